#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over a network, too, a message whose sender has called MPI_Finalize is named, and the job ends.
# Cases: tcp ofi
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -pthread -o "$work/unsent" "$SOURCE/test/fault/unsent.c" || fail "unsent.c cannot be compiled"

expect_ends unsent 'no message.* from [anyrk 3]* of MPI_COMM_WORLD will ever come: .* called MPI_Finalize' \
    'recv silent any bcast probe' \
    'returned early waitany any_late again left'
finish
