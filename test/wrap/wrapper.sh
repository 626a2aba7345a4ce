#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The answers of the wrappers of the build tree; bad queries fail.
set -u
failures=0

complain() {
    echo "$*"
    failures=1
}

# expect TEXT COMMAND...: the output has the text.
expect() {
    wanted=$1
    shift
    got=$("$@" 2>&1) || complain "$*: exit code $?"
    case $got in
    *"$wanted"*) ;;
    *) complain "$*: \"$got\" has no \"$wanted\"" ;;
    esac
}

# refuse COMMAND...: the command fails, with a message on stderr and nothing on stdout.
refuse() {
    got=$("$@" 2>/dev/null) && complain "$*: succeeds"
    [ -z "$got" ] || complain "$*: prints \"$got\""
    [ -n "$("$@" 2>&1 >/dev/null)" ] || complain "$*: says nothing"
}

for wrapper in "$MPICC" "$MPICXX"; do
    for option in -show -showme --showme -compile-info -compile_info -showme:compile; do
        expect "-I$SOURCE" "$wrapper" $option
    done
    for option in -show -showme -link-info -link_info -showme:link; do
        expect "-lmpi_abi" "$wrapper" $option
        expect "-Wl,-rpath,$BUILD/.libs" "$wrapper" $option
    done
    expect "$BUILD/.libs" "$wrapper" -showme:libdirs
    expect "include" "$wrapper" -showme:incdirs
    expect "mpi_abi" "$wrapper" -showme:libs
    expect "Weft" "$wrapper" -showme:version
    expect "Usage" "$wrapper" -showme:help
    expect "Usage" "$wrapper" -help
    expect "Weft" "$wrapper" -v
    expect "some-cc -I" "$wrapper" -cc=some-cc -show
    refuse "$wrapper" -showme:foo
    refuse "$wrapper" --cray-print-opts=cflags
    case $("$wrapper" -show -c x.c) in
    *-lmpi*) complain "$wrapper: libraries where nothing is linked" ;;
    esac
done
expect "some-cc -I" env MPICH_CC=some-cc "$MPICC" -show
expect "some-cc -I" env OMPI_CC=some-cc "$MPICC" -show
expect "some-cc -I" env MPICH_CXX=some-cc "$MPICXX" -show
expect "some-cc -I" env OMPI_CXX=some-cc "$MPICXX" -show
expect " -DFROM_CFLAGS" env OMPI_CFLAGS=-DFROM_CFLAGS "$MPICC" -show
expect " -Lfrom_ldflags" env OMPI_LDFLAGS=-Lfrom_ldflags "$MPICC" -show
refuse env MPICH_CC="$MPICC" "$MPICC" -c x.c
exit $failures
