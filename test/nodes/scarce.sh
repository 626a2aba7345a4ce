#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of two hosts may open few files, or have little memory: Weft raises the limit of files where
# that is allowed; otherwise the job ends with a line that says what is missing.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -O1 -Wall -Wextra -o "$work/scarce" "$SOURCE/test/nodes/scarce.c" || fail "scarce.c cannot be compiled"

# scarce CODE RANKS WHAT: with RANKS ranks on each host
scarce() {
    expect_on "$1" --hosts 2 -- sh -c "cd '$work' && exec timeout 40 '$MPIRUN' --launch-agent agent -host h1:$2,h2:$2 ./scarce $3"
}

scarce 0 8 files
[ ! -s out ] && [ ! -s err ] || fail "few files: $(head -c 600 out err)"
scarce 16 8 hard-files
expect_text err 'rank [0-9]* on h[12] cannot \(accept a connection\|reach rank [0-9]* .*\): Too many open files'
[ -n "${SANITIZERS-}" ] || {
    scarce 1 1 memory
    expect_text err 'no memory'
}
finish
