#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The report of mpirun --report about GPUs: which rank uses which GPU, how memory goes between them,
# what costs speed.
. "$(dirname "$0")/../launch/setup.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || { echo "needs cuda.h"; exit 77; }
driver=$BUILD/simcuda
"${MPICC:-$BUILD/tools/mpicc}" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -isystem "$include" "$SOURCE/test/tool/gpus_used.c" \
    -o gpus_used -L"$driver" -lcuda || exit 1
LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export LD_LIBRARY_PATH ASAN_OPTIONS

# report WORDS RANKS WHEN WHICH: WORDS are for the simulated driver; variables of the ranks may
# follow them, after blanks
report() {
    expect 0 env SIMCUDA=$1 "$MPIRUN" --report -n "$2" ./gpus_used "$3" "$4"
}

# said NUMBER PATTERN: so many lines match
said() {
    [ "$(grep -c -e "$2" err)" -eq "$1" ] || fail "$(grep -c -e "$2" err) lines are like \"$2\", not $1: $(cat err)"
}

report devices=1 1 early each
said 1 'GPU 0000:1B:00.0  1 rank: 0; kernels: '
said 0 'side by side'
said 0 'between'
said 0 'warning: .*GPU'

report devices=2 5 early each
said 1 'GPU 0000:1B:00.0  3 ranks: 0, 2, 4; kernels: '
said 1 'GPU 0000:1E:00.0  2 ranks: 1, 3; kernels: '
said 2 '; take turns (mpirun --mps lets them run side by side)$'
said 1 'between ranks: CUDA IPC and peer access$'
said 0 'warning: .*GPU'
said 0 'no CUDA context'
said 0 'works on'

report devices=8 8 early each
said 8 'GPU 0000:[0-9A-F]*:00.0  1 rank: [0-7]; '
said 1 'between ranks: CUDA IPC and peer access$'

report devices=3,peers=0-2 3 early each
said 2 'GPUs 0000:1[BE]:00.0 and 0000:[12][E1]:00.0: through pinned memory, they have no peer access$'
said 1 'between other ranks: CUDA IPC and peer access$'
said 1 "warning: .*: GPUs cannot reach each other's memory"

report devices=8,peers=none 8 early each
said 8 'they have no peer access$'
said 1 'and 20 more pairs of GPUs'
said 1 'between other ranks: CUDA IPC$'

report devices=2,per_task=1 2 early each
said 1 'perhaps through pinned memory, the ranks of one do not see the other$'
said 1 "warning: .* do not see each other's GPUs"

report devices=4 3 early one
said 1 'GPU 0000:1B:00.0  3 ranks: 0-2; '
said 1 'between ranks: CUDA IPC$'
said 1 'warning: .*all 3 ranks work on GPU 0000:1B:00.0, but see 4'

report 'devices=2 WEFT_DEVICE_IPC=no' 2 early each
said 1 'between ranks: through pinned memory$'
said 1 'warning: .*WEFT_DEVICE_IPC=no'

# No device of this capability is in any build's list, nor is there PTX for it.
report devices=1,capability=52 2 early one
said 1 '; kernels: none for it; take turns '
said 1 'warning: .*reductions .*go through the host'

# Clients of MPS; then one of them is not, or is that of another one.
report devices=2,mps=1 3 early each
said 1 'GPU 0000:1B:00.0  2 ranks: 0, 2; .*; run side by side, by MPS$'
said 1 'GPU 0000:1E:00.0  1 rank: 1; .*'
said 0 'take turns (mpirun'
for odd in SIMCUDA=devices=1 CUDA_MPS_PIPE_DIRECTORY=other; do
    expect 0 env SIMCUDA=devices=1,mps=1 "$MPIRUN" --report -n 2 ./gpus_used early one : -n 1 env $odd ./gpus_used early one
    said 1 '3 ranks: 0-2; .*; take turns (mpirun --mps lets them run side by side)$'
done
report devices=1,mps=1 2 late one
said 1 '2 ranks: 0-1; .*; run side by side, by MPS$'

report devices=1 2 never one
said 1 'no CUDA context yet: ranks 0-1$'
said 0 'GPU 0000'

# The ranks choose devices after MPI_Init: each is reported at its first use, and all again at the
# end.
report devices=2 2 late each
said 1 'no CUDA context yet: ranks 0-1$'
said 1 'rank 0: cuda: works on GPU 0000:1B:00.0'
said 1 'rank 1: cuda: works on GPU 0000:1E:00.0'
said 1 '^weft: 2 ranks worked on GPUs$'
said 1 'between ranks: CUDA IPC and peer access$'
report devices=1,capability=52 2 late one
said 1 'warning: .*reductions .*go through the host'

expect 0 "$MPIRUN" -n 2 env SIMCUDA=devices=2 ./gpus_used late each
said 0 GPU
report 'devices=1 WEFT_DEVICE=no' 2 never one
said 1 'warning: .*WEFT_DEVICE=no'
said 0 'context'
finish
