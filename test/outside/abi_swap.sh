#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One program, two libraries of the MPI 5.0 ABI: compiled by MPICH's wrapper and run over Weft,
# compiled by Weft's wrapper and run over MPICH, each by LD_LIBRARY_PATH alone and under the
# launcher of the library that it runs over.
. "$(dirname "$0")/wheels.sh"
mpich=$cache/weft-peers/mpich-wheel

# expect LIBRARY PROGRAM LAUNCHER...: run on 1, 2 and 5 ranks; the library's name is printed once
expect() {
    library=$1 program=$2
    shift 2
    for ranks in 1 2 5; do
        timeout 60 "$@" -n $ranks "$program" >"$work/out" 2>"$work/err" ||
            fail "$program over $library, $ranks ranks: exit code $?: $(head -n 20 "$work/out" "$work/err")"
        [ "$(cat "$work/out")" = "$library on $ranks ranks" ] ||
            fail "$program over $library, $ranks ranks, says: $(head -n 5 "$work/out")"
    done
}

need_plain_build
fetch "$mpich" bin/mpicc_abi mpich
for pair in "$mpich/bin/mpicc_abi:by_mpich" "$MPICC:by_weft"; do
    "${pair%:*}" -O1 -Wall -Wextra "$SOURCE/test/outside/all_sorts.c" -o "$work/${pair#*:}" || fail "${pair%:*} fails"
done
export LD_LIBRARY_PATH
for program in "$work/by_mpich" "$work/by_weft"; do
    LD_LIBRARY_PATH=$BUILD/.libs
    expect Weft "$program" "$MPIRUN"
    LD_LIBRARY_PATH=$mpich/lib
    expect MPICH "$program" "$mpich/bin/mpiexec"
done
