#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Lines are whole, nothing is lost, and mpirun does not wait for other processes that hold the output of a rank open.
. "$(dirname "$0")/setup.sh"

# Lines of many lengths; each begins with "<" and ends with ">", which stand nowhere else.
cat >writer <<'EOF'
awk -v rank=$RANK 'BEGIN {
    for (i = 0; i < 2000; i++) {
        text = sprintf("%*s", (i * 37 + rank * 11) % 300, ""); gsub(/ /, "x", text)
        line = "<" rank ":" i ":" text ":" length(text) ">"
        if (i % 2) print line; else print line > "/dev/stderr"
    }
}'
EOF
# whole_lines FILE: how many lines are exactly as written
whole_lines() {
    awk -F: '/^<[0-9]+:[0-9]+:x*:[0-9]+>$/ && length($3) == $4 + 0 {n++} END {print n + 0}' "$1"
}
expect 0 "$MPIRUN" -n 6 sh writer
[ "$(whole_lines out)" -eq 6000 ] || fail "$(whole_lines out) whole lines on stdout, not 6000"
[ "$(whole_lines err)" -eq 6000 ] || fail "$(whole_lines err) whole lines on stderr, not 6000"
"$MPIRUN" -n 6 sh writer 2>&1 </dev/null | cat >both
[ "$(whole_lines both)" -eq 12000 ] || fail "$(whole_lines both) whole lines with 2>&1, not 12000"
"$MPIRUN" -l -n 3 sh writer 2>/dev/null </dev/null | sed 's/^\[[0-2]\] //' >both
[ "$(whole_lines both)" -eq 3000 ] || fail "$(whole_lines both) whole lines with -l, not 3000"

# Into files of the ranks
expect 0 "$MPIRUN" --outfile-pattern 'o.%r.%h.%%' --errfile-pattern 'e.%r' -n 3 sh writer
[ ! -s out ] && [ ! -s err ] || fail "patterns: $(head -c 300 out err)"
for rank in 0 1 2; do
    for file in "o.$rank.$(hostname).%" "e.$rank"; do
        [ "$(whole_lines "$file")" -eq 1000 ] || fail "$file has $(whole_lines "$file") lines"
    done
done
# Both channels in one file, in the order of writing
cat >pairs <<'EOF'
for i in 1 2 3; do
    echo out
    echo error >&2
done
EOF
sh pairs >pairs.wanted 2>&1
expect 0 "$MPIRUN" --output-filename 'a/b%' --merge-stderr-to-stdout -n 2 sh pairs
[ ! -s out ] && [ ! -s err ] || fail "folder: $(head -c 300 out err)"
for rank in 0 1; do
    [ "$(cat "a/b%/rank.$rank/stdout")" = "$(cat pairs.wanted)" ] || fail "rank $rank: $(cat "a/b%/rank.$rank/stdout")"
done
expect 0 "$MPIRUN" --outfile-pattern 'same.%r' --errfile-pattern 'same.%r' -n 1 sh pairs
[ "$(cat same.0)" = "$(cat pairs.wanted)" ] || fail "one file for both: $(cat same.0)"
expect 0 "$MPIRUN" --errfile-pattern 'e.%r' -n 2 sh -c 'echo out; echo err >&2'
expect_output "$(printf 'out\nout')"
expect 1 "$MPIRUN" --outfile-pattern 'none/o.%r' -n 3 touch started
expect_text err 'none/o.0 for stdout of rank 0 cannot be written: No such file'
expect 1 "$MPIRUN" --outfile-pattern all -n 3 touch started
expect_text err 'put %r in its name'
expect 0 "$MPIRUN" --outfile-pattern all -n 1 echo alone
[ "$(cat all)" = alone ] && [ ! -e started ] || fail "one rank: $(ls)"
expect 0 "$MPIRUN" --merge-stderr-to-stdout -n 1 sh pairs
[ "$(cat out)" = "$(cat pairs.wanted)" ] && [ ! -s err ] || fail "merged: $(cat out err)"

expect 0 "$MPIRUN" -n 1 printf 'no end of line'
expect_output 'no end of line'
expect 0 "$MPIRUN" -n 2 -l echo x
[ "$(sort out)" = "$(printf '[0] x\n[1] x')" ] || fail "tags: $(cat out)"
expect 0 "$MPIRUN" -n 3 sh -c 'head -c 3000000 /dev/zero; echo'
[ "$(wc -c <out)" -eq 9000003 ] || fail "$(wc -c <out) bytes of 9000003"
"$MPIRUN" -n 2 sh -c 'head -c 3000000 /dev/zero' </dev/null | (sleep 1; wc -c) >out
[ "$(cat out)" -eq 6000000 ] || fail "a slow reader got $(cat out) bytes of 6000000"
# Much more than the queue takes: it fills and empties often, and ranks go on each time.
timeout 60 "$MPIRUN" -n 4 sh -c 'head -c 40000000 /dev/zero' </dev/null | wc -c >out
[ "$(cat out)" -eq 160000000 ] || fail "a quick reader got $(cat out) bytes of 160000000"

# A child that holds the output open, in the rank's group and out of it
expect 0 timeout 10 "$MPIRUN" -n 2 sh -c "sleep $nap & echo done"
[ "$(grep -c done out)" -eq 2 ] || fail "output is lost: $(cat out)"
expect 0 timeout 10 "$MPIRUN" -n 1 sh -c '(sleep 0.1; echo late) & echo early'
[ "$(wc -l <out)" -eq 2 ] || fail "a child's late line is lost: $(cat out)"

# A reader that goes away ends the job, without a message.
timeout 20 "$MPIRUN" -n 3 yes 2>err </dev/null | head -n 2 >out
[ "$(wc -l <out)" -eq 2 ] || fail "head got $(wc -l <out) lines"
[ ! -s err ] || fail "head: $(cat err)"
expect 0 sh -c '"$0" -n 2 echo x >&- 2>&-' "$MPIRUN"

# Output that cannot be written: the ranks run on, mpirun says why their output is lost, and does not return 0.
# unwritten CODE WORDS COMMAND: a shell command in which $0 is mpirun; ranks touch done.RANK at their ends
unwritten() {
    rm -f done.*
    expect "$1" sh -c "$3" "$MPIRUN"
    expect_text err "^mpirun: cannot write standard output: $2; what the ranks write to it is lost from here on$"
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
    [ -e done.0 ] && [ -e done.1 ] || fail "ranks have ended early: $3"
}
cat >much <<'EOF'
seq 200000
: >done.$RANK
EOF
unwritten 1 'No space left on device' '"$0" -n 2 sh much >/dev/full'
unwritten 1 'No space left on device' '"$0" -n 2 sh -c "echo little; : >done.\$RANK" >/dev/full'
unwritten 1 'File too large' 'ulimit -f 16; "$0" -n 2 sh much >file'
[ -s file ] || fail "nothing was written before the limit"
expect 1 sh -c '"$0" -n 2 sh -c "echo error >&2; echo out" 2>/dev/full' "$MPIRUN"
expect_output "$(printf 'out\nout')"
expect 1 sh -c '"$0" -n 2 sh much >/dev/full 2>&1' "$MPIRUN"
expect 7 sh -c '"$0" -n 2 sh -c "echo out; exit 7" >/dev/full' "$MPIRUN"
expect 1 sh -c '"$0" --help >/dev/full' "$MPIRUN"
expect_text err 'cannot write standard output: No space left on device'
# A rank keeps its own limits and signals.
expect 153 sh -c 'ulimit -f 1; "$0" -n 1 sh -c "exec seq 20000 >file.2"' "$MPIRUN"
finish
