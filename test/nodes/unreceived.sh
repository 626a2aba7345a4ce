#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose receiver has called MPI_Finalize is named, and the job ends.
# Cases: tcp ofi
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -o "$work/unreceived" "$SOURCE/test/fault/unreceived.c" || fail "unreceived.c cannot be compiled"

expect_ends unreceived 'to rank [03] of [MPI_COMWRLDthe ring]* will never be received: that rank has called MPI_Finalize' \
    'isend freed mutual' \
    'returned late early cancel'
finish
