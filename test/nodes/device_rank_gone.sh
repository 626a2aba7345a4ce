#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank dies amid collectives of device memory over two hosts, by itself or in a call of the
# driver: the job ends, the rank is named, nothing is left on either host.
. "$(dirname "$0")/setup_hosts.sh"
[ -n "$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")" ] || { echo "needs cuda.h"; exit 77; }
"$MPICC" -I"$SOURCE/test/mpi" -o "$work/device_ends" "$SOURCE/test/fault/device_ends.c" -ldl || fail "device_ends.c cannot be compiled"

cat >"$work/go" <<'EOT'
cd "$1"
env WEFT_LOG=error TEST_MEMORY=D LD_LIBRARY_PATH="$3" SIMCUDA="$4" ASAN_OPTIONS=handle_segv=0:detect_leaks=0 \
    timeout 50 "$2" --launch-agent agent -host h1:2,h2:3 -np 5 ./device_ends $5 >said 2>&1 </dev/null
echo "code $?: $(tr '\n' ' ' <said)"
sh left device_ends h1 h2
EOT
# dies CODE DRIVER HOW: DRIVER are words for the simulated driver, HOW the arguments of
# fault/device_ends.c; rank 3 dies
dies() {
    expect_on 0 --hosts 2 --slots 3 -- sh "$work/go" "$work" "$MPIRUN" "$BUILD/simcuda" "$2" "$3"
    grep -q "^code $1: .*rank 3 (process [0-9]* on h2)" out || fail "$3: not code $1 and rank 3: $(cat out err)"
    [ "$(grep -c '^left on h[12]: \.$' out)" -eq 2 ] || fail "$3: something is left: $(cat out err)"
}
dies 137 devices=2 'before kill 3 1000'
dies 139 devices=2 'begun segv 3 100000'
dies 137 devices=1 'arrived kill 3 1000 return'
dies 137 'devices=2,late=0,kill=cuMemcpyAsync:9@3' 'amid none 3 1000'
dies 137 'devices=1,late=0,kill=cuLaunchKernel:2@3' 'amid none 3 200000 return'
finish
