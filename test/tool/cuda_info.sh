#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft_info --cuda on the simulated driver with several devices, with none, and on a machine without a driver.
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILD:=$SOURCE/build}"
driver=$BUILD/simcuda
[ -e "$driver/libcuda.so.1" ] || { echo "there is no simulated driver"; exit 77; }
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
failures=0
fail() {
    echo "$*"
    failures=$((failures + 1))
}

# info WORDS OPTION...: WORDS are for the simulated driver; the output is in $words
info() {
    told=$1
    shift
    words=$(LD_LIBRARY_PATH="$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SIMCUDA="$told" "$BUILD/weft_info" --cuda "$@" 2>&1) ||
        fail "$told $*: exit code $?: $words"
}

# lines NUMBER PATTERN: so many lines of the output match
lines() {
    got=$(echo "$words" | grep -c -e "$2")
    [ "$got" -eq "$1" ] || fail "$told: $got lines are like '$2', not $1: $words"
}

# No program may make memory for fabric handles without one.
unless=' (not permitted: there is no IMEX channel)'
[ ! -e /dev/nvidia-caps-imex-channels ] || unless=

for devices in 1 2 8; do
    info devices=$devices
    lines 1 "^CUDA driver  *for CUDA [0-9.]*, $devices devices\{0,1\}\$"
    lines 1 '^kernels .*\(by CUDA [0-9.]* (driver [0-9.]* or later)\|none, built without nvcc: .*\)$'
    lines $devices '^device  *[0-7]: Weft simulated device$'
    lines $devices '^  PCI id  *0000:[0-9A-F][0-9A-F]:00.0$'
    lines $devices '^  UUID  *GPU-[0-9a-f]*-[0-9a-f]*-[0-9a-f]*-[0-9a-f]*-[0-9a-f]*$'
    lines $devices "^  Weft's kernels "
    lines $devices "^  shared by  *CUDA IPC, file descriptors, fabric handles$unless$"
    lines 1 '^MPS  *not running for this process: ranks that share a device take turns; '
    lines $devices '^  multicast  *no$'
    lines $((devices > 1 ? devices : 0)) '^  peer access to  *[0-7]'
    lines 1 '^WEFT_DEVICE  *auto$'
done
lines 1 '^GDRCopy  *none (.*): small messages go through pinned memory$'
info devices=1,mps=1
lines 1 '^MPS  *this process is a client of it: ranks that share a device run side by side; '
nothing=$(mktemp -d) || exit 1
trap 'rm -rf "$nothing"' EXIT
printf '#!/bin/sh\n' >"$nothing/nvidia-cuda-mps-control"
PATH=$nothing:$PATH
info devices=1
[ -x /usr/local/nvidia/bin/nvidia-cuda-mps-control ] || [ -x /usr/bin/nvidia-cuda-mps-control ] ||
    lines 1 '^MPS .*; nvidia-cuda-mps-control was not found$'
chmod +x "$nothing/nvidia-cuda-mps-control"
info devices=1
lines 1 "^MPS .*; mpirun --mps starts $nothing/nvidia-cuda-mps-control\$"
driver=$driver:$driver/bar
info bar=0
lines 1 '^GDRCopy  *2.5, but its kernel module'
info bar=16M
lines 1 '^GDRCopy  *2.5: the processor copies small messages$'
driver=${driver%%:*}
info devices=4,peers=0-2,memory=3G,capability=86
lines 4 '^  memory  *3072 MiB$'
lines 4 '^  capability  *8.6$'
lines 4 '^  shared by  *CUDA IPC, file descriptors$'
lines 1 '^  peer access to  *2$'
lines 1 '^  peer access to  *0$'
lines 2 '^  peer access to  *none of the others'
info devices=2,multicast=1
lines 2 '^  multicast  *yes'
info devices=2,multicast=1,watchdog
lines 2 '^  multicast  *no$'
lines 2 '^  time limit  *the system ends kernels'
info devices=2 --parsable
lines 2 '^cuda_device_[01]:pci:0000:'
lines 1 '^cuda:driver:for CUDA '
info devices=2 --json
echo "$words" | python3 -c 'import json, sys; assert json.load(sys.stdin)["cuda_device_1"]["capability"] == "9.0"' ||
    fail "no JSON: $words"
info devices=1,fail=cuInit:1:803
lines 1 '^CUDA driver .*CUDA_ERROR_SYSTEM_DRIVER_MISMATCH'
lines 0 '^device'
info devices=2,fail=cuDeviceTotalMem:1
lines 1 '^  memory  *not known: cuDeviceTotalMem: error 999'
lines 1 '^  memory  *16384 MiB$'

# The driver shows no device; then there is no driver, even if this machine has one.
words=$(CUDA_VISIBLE_DEVICES='' LD_LIBRARY_PATH="$driver" "$BUILD/weft_info" --cuda 2>&1) || fail "no device: exit code $?"
lines 1 '^CUDA driver .*without a device: cuInit: error 100, CUDA_ERROR_NO_DEVICE'
: >"$nothing/libcuda.so.1"
words=$(LD_LIBRARY_PATH=$nothing "$BUILD/weft_info" --cuda 2>&1) || fail "no driver: exit code $?"
lines 1 '^CUDA driver  *none (.*libcuda.so.1'
lines 0 '^device'
[ $failures -eq 0 ]
