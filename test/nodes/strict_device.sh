#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Device memory between hosts over a provider that reaches it (FI_HMEM), on both sides, on one, and
# where the trial fails: messages and collectives of device and host memory are right, and a line
# says why data go through host memory.
# Cases: direct one_side detour
. "$(dirname "$0")/setup_strict.sh"
cuda=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$cuda" ] || { echo "needs cuda.h"; exit 77; }
for source in cuda/messages cuda/traffic coll/moves coll/reductions; do
    "$MPICC" -std=gnu11 -O1 -g -I"$SOURCE/test/mpi" -I"$SOURCE/test/mpi/cuda" -I"$cuda" "$SOURCE/test/mpi/$source.c" \
        -o "$work/${source#*/}" -L"$BUILD/simcuda" -Wl,--no-as-needed -lcuda -ldl -lm -pthread || exit 1
done
# One side only: the ranks of h1 do not use FI_HMEM.
cat >one_side <<'EOF2'
[ "$(hostname)" != h1 ] || export WEFT_DEVICE_NETWORK=no
exec "$@"
EOF2
export LD_LIBRARY_PATH="$BUILD/simcuda" SIMCUDA='devices=2,late=0' TEST_MEMORY=DH ASAN_OPTIONS=detect_leaks=0 WEFT_EAGER_MAX=2K \
    WEFT_FABRIC_EAGER_MAX=4K

on_strict 2 <<'E2'
direct hmem;2 ./messages device host
direct hmem,mr_local,prov_key,mr_endpoint,context2,reorder;2 ./messages device host
direct hmem;3 ./traffic 5 6 60
direct hmem,eagain=3,mr_local;4 ./moves
direct hmem,no_multi_recv,inject=0;3 ./reductions
direct hmem,tell;2 ./messages device
one_side hmem;2 sh one_side ./messages device host
one_side hmem,reorder;3 sh one_side ./traffic 7 6 60
one_side hmem,tell;2 sh one_side ./messages device host
detour hmem,hmem_fail=1;2 ./messages device host
detour hmem,fail_read=1;2 ./messages device host
detour hmem,hmem_fail=3,fail_read=4;3 ./traffic 9 6 60
detour mr_local;2 ./messages device host
E2
# More bytes than the 4096 of the trial.
direct='[1-9][0-9]\{4,\} bytes into device memory'
detour='device memory goes to other hosts through pinned host memory'
for line in $(seq 1 $(wc -l <lines)); do
    [ "$(code_of $line)" -eq 0 ] || fail "exit code $(code_of $line) of $(of $line)"
done
# readers NUMBER: how many ranks of line NUMBER have read into device memory
readers() {
    grep -c "$direct" $1.text
}
first=1
for case in $cases; do
    case $case in
    direct) # the last line tells how much
        for line in $(seq $first $((first + 4))); do
            ! grep -q "$detour" $line.text || fail "a detour: $(of $line)"
        done
        first=$((first + 6))
        [ "$(readers $((first - 1)))" -eq 2 ] || fail "not both ranks have read into device memory: $(of $((first - 1)))"
        ;;
    one_side)
        expect_text $first.text "$detour: WEFT_DEVICE_NETWORK=no"
        expect_text $((first + 1)).text "$detour: WEFT_DEVICE_NETWORK=no"
        first=$((first + 3))
        [ "$(readers $((first - 1)))" -eq 1 ] || fail "not one rank has read into device memory: $(of $((first - 1)))"
        ;;
    detour)
        expect_text $first.text "$detour: provider weft_strict offers FI_HMEM, but in a trial registration failed: Input/output error"
        expect_text $((first + 1)).text "$detour: provider weft_strict offers FI_HMEM, but in a trial fi_read failed: Input/output error"
        expect_text $((first + 3)).text "$detour: the provider offers no FI_HMEM"
        ;;
    esac
done
finish
