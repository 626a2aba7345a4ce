#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose sender has called MPI_Finalize is named, and the job ends.
# Cases: tcp ofi
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -pthread -o "$work/unsent" "$SOURCE/test/fault/unsent.c" || fail "unsent.c cannot be compiled"

wrong='recv silent any bcast probe'
right='returned early waitany any_late again left'
for case in $cases; do
    fabric $case
    jobs_at_once unsent $wrong
    for how in $wrong; do
        expect_end $how 16
        expect_text $how.text 'no message.* from [anyrk 3]* of MPI_COMM_WORLD will ever come: .* called MPI_Finalize'
    done
    jobs_at_once unsent $right
    for how in $right; do
        expect_end $how 0
        [ ! -s $how.text ] || fail "$case $how: printed: $(head -c 300 $how.text)"
    done
done
finish
