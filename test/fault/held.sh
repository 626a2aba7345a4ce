#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Abort ends the job whatever stream another thread holds, and what can be written of the
# program's output is written.
. "$(dirname "$0")/judge.sh"
compile fault/held.c
no_rank() {
    ! pgrep -f "^./held reader" >/dev/null
}
mkfifo silent unread || exit 1

# held WHAT RANKS: rank 0 has an input in which nothing ever comes
held() {
    rm -f kept other
    timeout -k 5 30 "$MPIRUN" -n "$2" ./held "$1" >out 2>err <>silent
    got=$?
    [ $got -eq 7 ] || fail "$1 is held: exit code $got, expected 7: $(head -c 300 err)"
    expect_text err "rank 0 .* aborted the job with code 7"
    nothing_left
}

# expect_content FILE TEXT
expect_content() {
    [ "$(cat "$1")" = "$2" ] || fail "$what: $1 contains \"$(head -c 300 "$1")\", expected \"$2\""
}

for what in stdin stdout file own signal; do
    held $what 3
    [ $what = stdout ] || expect_content out said
    [ $what = file ] || expect_content kept kept
done
# Without mpirun nobody ends the process from outside.
timeout -k 5 30 ./held stdin >out 2>err <>silent
got=$?
[ $got -eq 7 ] || fail "without mpirun: exit code $got, expected 7: $(head -c 300 err)"
what=singleton
expect_content out said

# A reader that sleeps: the rank is gone, though what it has printed stays with mpirun.
exec 3<>unread
"$MPIRUN" -n 1 ./held reader >unread 2>err </dev/null &
mpirun=$!
until_true grep -q 'aborted the job with code 7' err || fail "a reader that sleeps: $(head -c 300 err)"
until_true no_rank
cat <&3 >/dev/null &
reader=$!
wait $mpirun
got=$?
[ $got -eq 7 ] || fail "a reader that sleeps: exit code $got, expected 7: $(head -c 300 err)"
kill $reader
nothing_left
finish
