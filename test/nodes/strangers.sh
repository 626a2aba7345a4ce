#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Foreign connections to the ports of a job of two hosts, over Weft's own TCP: the ranks drop and
# count them, and the job's results are right.
. "$(dirname "$0")/setup_hosts.sh"
: "${MPICC:=$BUILD/tools/mpicc}" "${PYTHON:=python3}"
"$MPICC" -O1 -g -Wall -Wextra "$SOURCE/test/nodes/bulk.c" -o bulk || exit 1

# The connections are made on h1 to the ranks of h1; srun runs there, too.
expect_on 0 --on h1 --slurm -- timeout 50 "$PYTHON" "$SOURCE/test/nodes/strangers.py" bulk \
    "$SOURCE/test/cluster/uneven" -np 3 "$work/bulk" 60
expect_text err 'dropped a connection'
expect_text err '[0-9][0-9]* connections that were not of the job were dropped'
[ "$(sed -n 's/ visits$//p' out)" -gt 50 ] || fail "few strangers came: $(cat out)"
! grep -v -e 'dropped a connection: ' -e 'connections that were not of the job were dropped' err || fail "more was printed"
finish
