#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One rank gets stdin: from a pipe, a file, nothing, and a terminal.
. "$(dirname "$0")/setup.sh"

[ "$(echo hello | timeout 20 "$MPIRUN" -n 3 cat)" = hello ] || fail "stdin from a pipe"
seq 200000 >numbers
timeout 20 "$MPIRUN" -n 2 cat <numbers >out
cmp -s numbers out || fail "a file through stdin has changed"
expect 0 "$MPIRUN" -n 2 cat
expect 0 sh -c '"$0" -n 2 cat <&-' "$MPIRUN"
for rank in 0 2; do
    timeout 20 "$MPIRUN" --stdin $rank -n 3 sh -c "cat >numbers.\$RANK" <numbers
    cmp -s numbers numbers.$rank || fail "--stdin $rank: rank $rank got $(wc -c <numbers.$rank) bytes"
    [ "$(cat numbers.[012] | wc -c)" -eq "$(wc -c <numbers)" ] || fail "--stdin $rank: others got some"
done
[ -z "$(timeout 20 "$MPIRUN" --stdin none -n 2 cat <numbers)" ] || fail "--stdin none: there was input"
expect 1 "$MPIRUN" --stdin 2 -n 2 cat
expect_text err '--stdin 2: the job has ranks 0 to 1'
# In a shell loop around mpirun only rank 0 could take the loop's input, and `true` takes none.
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
def talk():
    global seen
    seen = b""
    wait_for(b"name? ")             # a prompt without an end of line
    os.write(terminal, b"weft\n")
    wait_for(b"got weft")
    os.write(terminal, b"\x04")     # end of file
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
talk()
child, terminal = pty.fork()
if child == 0:
    os.execl(sys.argv[1], "mpirun", "--stdin", "1", "-n", "2", "sh", "-c",
             "[ $RANK = 0 ] || { printf 'name? '; read x; echo got $x; cat; }")
talk()
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
