#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose receiver has called MPI_Finalize is named, and the job ends.
# Cases: tcp ofi
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -o "$work/unreceived" "$SOURCE/test/fault/unreceived.c" || fail "unreceived.c cannot be compiled"

wrong='isend freed mutual'
right='returned late early cancel'
for case in $cases; do
    fabric $case
    jobs_at_once unreceived $wrong
    for how in $wrong; do
        expect_end $how 16
        expect_text $how.text 'to rank [03] of [MPI_COMWRLDthe ring]* will never be received: that rank has called MPI_Finalize'
    done
    jobs_at_once unreceived $right
    for how in $right; do
        expect_end $how 0
        [ ! -s $how.text ] || fail "$case $how: printed: $(head -c 300 $how.text)"
    done
done
finish
