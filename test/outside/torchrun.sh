#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI programs under torchrun: on one host and as two agents, after a restart, and beside torch's own process groups. TORCHRUN names
# another one than PATH has.
. "$(dirname "$0")/../launch/setup.sh"
: "${TORCHRUN:=torchrun}"
run=$(command -v "$TORCHRUN") || {
    echo "there is no torchrun in PATH, and TORCHRUN names none"
    exit 77
}
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
"$MPICC" -O1 -Wall -Wextra -o ranks_alone "$SOURCE/test/launch/ranks_alone.c" || exit 1
"$MPICC" -O1 -Wall -Wextra -I"$SOURCE/test/mpi" -o reductions "$SOURCE/test/mpi/coll/reductions.c" -lm || exit 1

for size in 1 2 3; do
    expect 0 "$run" --standalone --no-python --nproc-per-node $size ./reductions
done
printf '#!/bin/sh\n[ "$TORCHELASTIC_RESTART_COUNT" != 0 ] || exec ./ranks_alone kill 1\nexec ./ranks_alone\n' >restarted
chmod +x restarted
expect 0 "$run" --standalone --max-restarts 1 --no-python --nproc-per-node 3 ./restarted
expect_text err 'rank 1 .* has ended without MPI_Finalize'
expect 1 "$run" --standalone --no-python --nproc-per-node 2 ./ranks_alone abort 1
expect_text err 'MPI_Abort was called with error code 7'

port=$(free_port)
for node in 0 1; do
    timeout 60 "$run" --nnodes 2 --node-rank $node --master-addr localhost --master-port "$port" --no-python --nproc-per-node 2 \
        ./reductions >agent.$node 2>&1 || echo "ended with $?" >>agent.$node &
done
wait
! grep -h 'ended with' agent.0 agent.1 || fail "two agents: $(cat agent.0 agent.1 | head -c 600)"

# Torch's store and Weft's server at one port, in both orders, under torchrun and by hand
cat >both.py <<'EOT'
import ctypes, sys
import torch
import torch.distributed as dist

mpi = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
if sys.argv[1] == "first":
    assert mpi.MPI_Init(None, None) == 0
dist.init_process_group("gloo", init_method="env://")
if sys.argv[1] == "last":
    assert mpi.MPI_Init(None, None) == 0
total = torch.tensor([dist.get_rank()])
dist.all_reduce(total)
assert int(total) == dist.get_world_size() * (dist.get_world_size() - 1) // 2
mpi.MPI_Finalize()
dist.destroy_process_group()
EOT
library=$BUILD/.libs/libmpi_abi.so.1
for order in first last; do
    expect 0 "$run" --standalone --nproc-per-node 3 both.py $order "$library"
    port=$(free_port)
    for rank in 0 1 2; do
        RANK=$rank WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 60 "$(dirname "$run")/python" both.py $order "$library" \
            >by_hand.$rank 2>&1 || echo "ended with $?" >>by_hand.$rank &
    done
    wait
    ! grep -h 'ended with' by_hand.? || fail "by hand, MPI $order: $(cat by_hand.? | head -c 900)"
done
finish
