#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank ends suddenly while others are in a collective of device memory: before it begins its part,
# while it waits for the others, while another rank works for all, while it does so itself;
# direct, p2p, staged, by ll and multicast, with one device for all and one for each. The
# job ends, the rank is named, the exit code says how it ended, and nothing is left.
. "$(dirname "$0")/judge.sh"
[ -n "$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")" ] || skip "needs cuda.h"
"$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" "$SOURCE/test/fault/device_ends.c" -o "$work/device_ends" -ldl || exit 1
LD_LIBRARY_PATH=$BUILD/simcuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
WEFT_LOG=error
export LD_LIBRARY_PATH ASAN_OPTIONS WEFT_LOG
killed='was killed by signal 9'
crashed='was killed by signal 11 (Segmentation fault)'

# ends CODE PATTERN SETTINGS RANKS WHERE HOW VICTIM COUNT [return]; SETTINGS: words of the simulated driver, then
# variables, with blanks between them
ends() {
    code=$1 pattern=$2 settings=$3 ranks=$4
    shift 4
    expect "$code" env TEST_MEMORY="${kinds:-D}" SIMCUDA=$settings "$MPIRUN" -n "$ranks" ./device_ends "$@"
    expect_text err "^mpirun: rank $3 (process [0-9]* on $host) $pattern"
}

# The rank ends itself, wherever the others are.
for where in before arrived begun; do
    ends 137 "$killed" devices=1 2 $where kill 1 1000
    ends 137 "$killed" devices=4 4 $where kill 0 100000
    ends 139 "$crashed" devices=1 3 $where segv 2 1000
    ends 7 'aborted the job with code 7' devices=3 3 $where abort=7 1 100000
    ends 3 'exited with code 3' devices=2 5 $where exit=3 4 1000
    ends 1 'exited without calling MPI_Finalize' devices=1 2 $where exit=0 0 1000
    ends 137 "$killed" devices=2 3 $where kill 1 1000 return
    ends 137 "$killed" 'devices=2 WEFT_SIMULATE_HOSTS=0,1,0' 3 $where kill 1 100 return
    ends 137 "$killed" 'devices=2 WEFT_DEVICE_IPC=no' 3 $where kill 1 100000
done
ends 137 "$killed" devices=1 16 begun kill 7 1000
# The kernel that works for all begins late.
ends 137 "$killed" 'devices=1,lazy,late=300' 4 begun kill 2 1000
ends 137 "$killed" 'devices=4,lazy,late=300' 4 begun kill 2 1000000
kinds=DH ends 137 "$killed" devices=1 3 arrived kill 1 1000

# The rank ends in a call of the driver while it works for all.
for call in cuIpcOpenMemHandle:1 cuLaunchKernel:1 cuLaunchKernel:4 cuStreamWriteValue32:2; do
    ends 137 "$killed" "devices=1,kill=$call@1" 3 last none 1 1000
    ends 139 "$crashed" "devices=3,kill=$call:11@2" 3 last none 2 1000 return
done
ends 137 "$killed" "devices=1,kill=cuLaunchKernel:5@15" 16 last none 15 1000

# The rank ends at any point: direct where each rank does a part, p2p, staged.
for call in cuLaunchKernel:2 cuLaunchKernel:9 cuMemcpyAsync:3 cuStreamWriteValue32:7; do
    ends 137 "$killed" "devices=3,late=0,kill=$call@1 WEFT_DEVICE_IPC=no" 3 amid none 1 100000
    ends 137 "$killed" "devices=1,late=0,kill=$call@0 WEFT_SIMULATE_HOSTS=0,1,1,0,1" 5 amid none 0 100000 return
done
ends 137 "$killed" 'devices=2,late=0,kill=cuMemcpyAsync:20@1 WEFT_DEVICE_IPC=no' 3 amid none 1 100
# Devices that do not reach each other: the rank ends while its shelf is filled, or it reads another one's.
for call in cuMemHostRegister:1 cuMemHostRegister:2 cuMemcpyAsync:2 cuMemcpyAsync:5 cuMemcpyAsync:11; do
    ends 137 "$killed" "devices=3,peers=none,late=0,kill=$call@1" 3 amid none 1 400000
    ends 137 "$killed" "devices=2,peers=none,kill=$call@0" 2 amid none 0 400000 return
done
ends 137 "$killed" 'devices=4,late=0,kill=cuLaunchKernel:3@3' 4 amid none 3 1000000

# Where kernels wait for each other: the rank ends before its own kernel, in it, or is stopped for
# ever, which the others' kernels notice. (A rank is not stopped amid other work: another rank may
# wait for it in another collective, and that wait has no limit.)
for call in weft_exchange_sum_F32:1 weft_exchange_sum_F32:20 cuStreamWriteValue32:9; do
    ends 137 "$killed" "devices=3,late=0,kill=$call@1" 3 amid none 1 1000
    ends 137 "$killed" "devices=8,late=0,kill=$call@3" 5 amid none 3 50000 return
done
ends 137 "$killed" 'devices=4,lazy,late=300,kill=weft_exchange_sum_F32:2@2' 4 amid none 2 1000
expect 16 env TEST_MEMORY=D WEFT_DEVICE_WAIT_MAX=1 SIMCUDA=devices=3,late=0,kill=weft_exchange_sum_F32:5:19@2 \
    "$MPIRUN" -n 3 ./device_ends last none 2 1000
# Whose words come first is open: what it has seen itself, or what the other one has said of his work.
expect_text err '^mpirun: rank [01] .*in a collective of [^(]*(3 ranks), rank [0-9]: \(rank 2 has been stopped for 1 s (WEFT_DEVICE_WAIT_MAX)[^:]*\|the device work of another rank of this host has failed\)'

# The same with multicast memory, and while it is being set up.
by_multicast=WEFT_COLL_TUNING=$SOURCE/test/mpi/cuda/multicast.conf
for call in sum_F32:1 sum_F32:20 'move:7 TEST_BCAST=1'; do
    kill=kill=weft_multicast_${call%% *} variables=$by_multicast${call#"${call%% *}"}
    ends 137 "$killed" "devices=3,multicast=1,late=0,$kill@1 $variables" 3 last none 1 1000
    ends 137 "$killed" "devices=8,multicast=1,late=0,$kill@3 $variables" 5 amid none 3 50000 return
done
for call in cuMulticastCreate:1@0 cuMulticastBindMem:1@0; do
    ends 137 "$killed" "devices=3,multicast=1,late=0,kill=$call $by_multicast" 3 last none 0 1000
done
ends 139 "$crashed" "devices=3,multicast=1,late=0,kill=cuMulticastAddDevice:1:11@2 $by_multicast" 3 last none 2 1000
for call in sum_F32 'move TEST_BCAST=1'; do
    kill=kill=weft_multicast_${call%% *} variables=$by_multicast${call#"${call%% *}"}
    expect 16 env TEST_MEMORY=D $variables WEFT_DEVICE_WAIT_MAX=1 \
        SIMCUDA=devices=3,multicast=1,late=0,$kill:5:19@2 "$MPIRUN" -n 3 ./device_ends last none 2 1000
    expect_text err '^mpirun: rank [01] .*in a collective of [^(]*(3 ranks), rank [0-9]: \(rank 2 has been stopped for 1 s (WEFT_DEVICE_WAIT_MAX)[^:]*\|the device work of another rank of this host has failed\)'
done
# The same with bound buffers, and while they are being bound.
by_multicast="WEFT_DEVICE_BIND_MIN=0 $by_multicast"
for call in sum_F32:30 'move:30 TEST_BCAST=1'; do
    kill=kill=weft_multicast_${call%% *} variables=$by_multicast${call#"${call%% *}"}
    kinds=V ends 137 "$killed" "devices=3,multicast=1,late=0,$kill@1 $variables" 3 last none 1 1000
    kinds=V ends 137 "$killed" "devices=8,multicast=1,late=0,$kill@3 $variables" 5 amid none 3 50000 return
done
for call in cuMulticastCreate:2@0 cuMulticastAddDevice:2@2 cuMulticastBindAddr:1@1 cuMulticastBindAddr:2@0; do
    kinds=V ends 137 "$killed" "devices=3,multicast=1,late=0,kill=$call $by_multicast" 3 last none "${call#*@}" 1000
done
nothing_left
finish
