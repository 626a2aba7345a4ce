#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun leaves a rank that does not end, says which one, and returns what it would have returned.
. "$(dirname "$0")/setup.sh"
"$CC" -O1 -Wall -Wextra -o held_rank "$SOURCE/test/launch/held_rank.c" || fail "held_rank.c cannot be compiled"

expect 3 "$MPIRUN" -n 3 ./held_rank 1 tracer
if grep -q 'no ptrace' err; then
    head -n 1 err
    exit 77
fi
[ ! -s tracer ] || kill "$(cat tracer)"
expect_text err '^mpirun: rank 1 on .* has not ended 10 s after SIGKILL; leaving it$'
[ "$(wc -l <err)" -eq 2 ] || fail "not two lines: $(cat err)"
finish
