#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A command line of torchrun with hosts: torchrun's variables on each of them, started by ssh's like and by srun.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
unset MASTER_ADDR MASTER_PORT OMP_NUM_THREADS TORCHELASTIC_RUN_ID RANK WORLD_SIZE
cat >show.py <<'EOT'
import os, socket
names = "RANK WORLD_SIZE LOCAL_RANK GROUP_RANK GROUP_WORLD_SIZE ROLE_NAME TORCHELASTIC_USE_AGENT_STORE MASTER_ADDR"
print(socket.gethostname(), *[os.environ.get(n, "-") for n in names.split()])
print("id", os.environ["TORCHELASTIC_RUN_ID"], os.environ["MASTER_PORT"])
EOT

check() {
    for line in 'h1 0 4 0 0 2' 'h1 1 4 1 0 2' 'h2 2 4 0 1 2' 'h2 3 4 1 1 2'; do
        expect_text out "^$line default False h1\$"
    done
    [ "$(grep '^id' out | sort -u | wc -l)" -eq 1 ] || fail "ids differ: $(cat out)"
}
expect_on 0 --hosts 2 -- sh -c "cd '$work'; exec timeout 60 $MPIRUN --launch-agent agent -host h1,h2 --nnodes 2 --nproc-per-node 2 show.py"
check
[ $failures -eq 0 ] || finish
expect_on 0 --hosts 2 --slurm -- sh -c "cd '$work'; exec timeout 60 salloc -Q -N 2 -n 4 $MPIRUN --nnodes 2 --nproc-per-node 2 show.py"
check
finish
