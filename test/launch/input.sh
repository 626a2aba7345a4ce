#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Stdin is rank 0's: from a pipe, a file, nothing, and a terminal.
. "$(dirname "$0")/setup.sh"

[ "$(echo hello | timeout 20 "$MPIRUN" -n 3 cat)" = hello ] || fail "stdin from a pipe"
seq 200000 >numbers
timeout 20 "$MPIRUN" -n 2 cat <numbers >out
cmp -s numbers out || fail "a file through stdin has changed"
expect 0 "$MPIRUN" -n 2 cat
expect 0 sh -c '"$0" -n 2 cat <&-' "$MPIRUN"
# Only rank 0 can take input from a loop around mpirun, and `true` does not.
[ "$(printf '1\n2\n3\n' | while read -r n; do "$MPIRUN" -n 2 true; echo "$n"; done | wc -l)" -eq 3 ] ||
    fail "mpirun ate the input of a loop"

python3 - "$MPIRUN" <<'EOF' || fail "stdin from a terminal"
import os, pty, signal, sys
signal.alarm(30)
child, terminal = pty.fork()
if child == 0:
    os.execl(sys.argv[1], "mpirun", "-n", "2", "sh", "-c", "[ $RANK = 1 ] || { printf 'name? '; read x; echo got $x; cat; }")
seen = b""
def wait_for(text):
    global seen
    while text not in seen:
        seen += os.read(terminal, 1000)
wait_for(b"name? ")             # a prompt without an end of line
os.write(terminal, b"weft\n")
wait_for(b"got weft")
os.write(terminal, b"\x04")     # end of file
status = os.waitpid(child, 0)[1]
assert status == 0, status
child, terminal = pty.fork()
if child == 0:
    os.execl(sys.argv[1], "mpirun", "-n", "2", "sh", "-c", "echo up; sleep 300")
seen = b""
wait_for(b"up")
os.write(terminal, b"\x03")     # ^C
status = os.waitpid(child, 0)[1]
assert os.WEXITSTATUS(status) == 130, status
EOF
finish
