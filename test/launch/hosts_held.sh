#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Neither mpirun nor a daemon waits for ranks that do not end on another host.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
"$CC" -O1 -Wall -Wextra -o held_rank "$SOURCE/test/launch/held_rank.c" || fail "held_rank.c cannot be compiled"

cat >held <<'EOF'
timeout 50 $1 --launch-agent agent -host h1:2,h2 -n 3 ./held_rank 2 "$PWD/tracer"
echo "code $?"
agent h2 'cat /proc/[0-9]*/comm | grep -x weftd; ls -d /tmp/weft-* 2>/dev/null'
agent h2 "kill $(cat tracer)"
EOF
expect_on 0 --hosts 2 -- sh -c "cd '$work' && . ./held" held "$MPIRUN"
if grep -q 'no ptrace' err; then
    head -n 1 err
    exit 77
fi
expect_output 'code 3'
expect_text err '^mpirun: rank 2 on h2 has not ended 10 s after SIGKILL; leaving it$'
finish
