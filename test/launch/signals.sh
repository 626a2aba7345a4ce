#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Signals to mpirun: ends, user signals, stop and go on.
. "$(dirname "$0")/setup.sh"

# start WORD...: mpirun in the background, its process id in $mpirun. SIGHUP is reset, since the caller of this test may ignore it (nohup).
start() {
    env --default-signal=HUP "$MPIRUN" "$@" >out 2>err </dev/null &
    mpirun=$!
}

# expect_end CODE
expect_end() {
    wait $mpirun
    got=$?
    [ $got -eq "$1" ] || fail "exit code $got, expected $1: $(cat err)"
    expect_nothing_left
}

for pair in INT:130 TERM:143 HUP:129 QUIT:131; do
    start -n 3 sleep $nap
    until_true has_naps 3
    kill -${pair%:*} $mpirun
    expect_end ${pair#*:}
    expect_text err "SIG${pair%:*} received"
done

# Ranks and their children get the signal, and have time to end.
start -n 2 sh -c 'trap "echo bye; exit 0" TERM; sleep '$nap' & wait'
until_true has_naps 2
kill -TERM $mpirun
expect_end 143
[ "$(grep -c bye out)" -eq 2 ] || fail "the ranks did not hear SIGTERM: $(cat out)"

# Ranks that ignore the signal: a second one ends them at once.
start -n 2 sh -c 'trap "" INT TERM; sleep '$nap'; sleep '$nap
until_true has_naps 2
kill -INT $mpirun
until_true grep -q received err
kill -INT $mpirun
expect_end 130

start -n 2 sh -c 'trap "exit 5" USR1; trap "exit 6" USR2; sleep '$nap' & wait'
until_true has_naps 2
kill -USR1 $mpirun
expect_end 5

are_stopped() {
    [ "$(naps_in_state T)" -eq "$1" ]
}

# mpirun stops itself after its ranks: a SIGCONT that comes in between would be lost.
all_are_stopped() {
    are_stopped 2 && grep -q '^State:.T' /proc/$mpirun/status
}

start -n 2 sleep $nap
until_true has_naps 2
kill -TSTP $mpirun
until_true all_are_stopped
kill -CONT $mpirun
until_true are_stopped 0
kill -TERM $mpirun
expect_end 143

# Ranks have sessions of their own where there is a core for each; their groups are their own anyway.
session_and_group='set -- $(cut -d " " -f 5,6 /proc/$$/stat) $$; echo $(($1 == $3)) $(($2 == $3))'
for ranks in 1 $(($(nproc) + 1)); do
    "$MPIRUN" -n $ranks sh -c "$session_and_group" >out 2>err
    [ "$(sort -u out)" = "1 $((ranks == 1))" ] || fail "sessions of $ranks ranks: $(cat out err)"
done

nohup "$MPIRUN" -n 1 sleep $nap >out 2>err </dev/null &
mpirun=$!
until_true has_naps 1
kill -HUP $mpirun
kill -TERM $mpirun
expect_end 143

# Some daemons and batch systems start programs with SIGCHLD ignored. Ranks get the default action, with which
# system() and its like work.
cat >ignored <<'EOF'
case $(sed -n 's/^SigIgn://p' /proc/self/status) in
*[13579bdf]????) echo ignored ;;
*) echo default ;;
esac
EOF
expect 0 env --ignore-signal=CHLD "$MPIRUN" -n 2 sh ignored
expect_output "$(printf 'default\ndefault')"
expect 7 env --ignore-signal=CHLD "$MPIRUN" -n 2 sh -c 'exit 7'
expect 124 env --ignore-signal=CHLD "$MPIRUN" --timeout 1 -n 2 sleep $nap
finish
