#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --max-restarts: a job that fails is started again, with another namespace and port.
. "$(dirname "$0")/setup.sh"
build_pmi_rank

# Each start of rank 1 writes a line; it fails before the start number $good.
cat >rank <<'EOF'
[ $RANK -ne 1 ] || echo "$TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS $MASTER_PORT $PMIX_NAMESPACE" >>starts
[ $RANK -ne 1 ] || [ $TORCHELASTIC_RESTART_COUNT -ge $good ] || exit 7
[ $TORCHELASTIC_RESTART_COUNT -ge $good ] || exec sleep 60
EOF
# restarts CODE GOOD STARTS OPTION...: the exit code, and how often the ranks were started
restarts() {
    rm -f starts
    code=$1 good=$2 times=$3
    export good
    shift 3
    expect "$code" "$MPIRUN" "$@" sh rank
    [ "$(wc -l <starts)" -eq "$times" ] || fail "started $(wc -l <starts) times, expected $times: $*"
    [ "$(cut -d ' ' -f 1 starts | tr '\n' ' ')" = "$(seq -s ' ' 0 $((times - 1))) " ] || fail "the counts are wrong: $(cat starts)"
    for field in 3 4; do
        [ "$(cut -d ' ' -f $field starts | sort -u | wc -l)" -eq "$times" ] || fail "a port or namespace is used twice: $(cat starts)"
    done
}
restarts 0 0 1 --max-restarts 3 -n 3
restarts 0 2 3 --max-restarts 3 -n 3
expect_text err '^mpirun: rank 1 (process [0-9]* on .*) exited with code 7; ending the job$'
expect_text err '^mpirun: the job is started again (2 of at most 3 times)$'
restarts 7 9 3 --max-restarts=2 -n 5
restarts 7 9 1 --max-restarts 0 -n 2
restarts 7 9 1 -n 2
grep -q ' 2 ' starts && fail "TORCHELASTIC_MAX_RESTARTS is not 0: $(cat starts)"

# Where the user says the port, it stays.
rm -f starts
good=1 MASTER_PORT=29123 expect 0 "$MPIRUN" --max-restarts 1 -n 2 sh rank
[ "$(cut -d ' ' -f 3 starts | sort -u)" = 29123 ] || fail "the user's port is changed: $(cat starts)"

# MPI in each start; an abort is a failure as well.
expect 77 "$MPIRUN" --max-restarts 2 -n 3 ./pmi_rank open board abort=1,77 pause
[ "$(grep -c 'aborted the job with code 77' err)" -eq 3 ] || fail "not three aborts: $(cat err)"
expect 137 "$MPIRUN" --max-restarts 2 -n 3 ./pmi_rank open kill=2 board pause
[ "$(grep -c 'killed by signal 9' err)" -eq 3 ] || fail "not three starts: $(cat err)"

# A signal to mpirun, a time limit and a wrong program end it for good.
expect 124 "$MPIRUN" --max-restarts 5 --timeout 1 -n 2 sleep 60
grep -q 'started again' err && fail "started again after the time limit"
expect 127 "$MPIRUN" --max-restarts 5 -n 2 ./nothing
"$MPIRUN" --max-restarts 5 -n 2 sh -c "touch there; exec sleep $nap" 2>err &
mpirun=$!
until_true has_naps 2
kill -TERM $mpirun
wait $mpirun
[ $? -eq 143 ] || fail "SIGTERM does not end it"
grep -q 'started again' err && fail "started again after SIGTERM"

# The ranks of each start find signals and limits as mpirun found them.
expect 3 "$MPIRUN" --max-restarts 1 -n 2 sh -c 'grep -e SigBlk -e SigIgn /proc/self/status; ulimit -n; [ $RANK -eq 0 ] || sleep 60; exit 3'
[ "$(sort out | uniq -c | grep -c '^ *[24] ')" -eq 3 ] || fail "signals or limits differ: $(cat out)"

expect 2 "$MPIRUN" --max-restarts -1 -n 2 true

# With --enable-recovery a rank is started again alone, whatever the program is; its output goes on.
cat >alone <<'EOF'
echo "$RANK $TORCHELASTIC_RESTART_COUNT"
[ $RANK -ne 1 ] || [ $TORCHELASTIC_RESTART_COUNT -ge 2 ] || exit 7
EOF
expect 0 "$MPIRUN" --enable-recovery --max-restarts 2 -n 3 sh alone
[ "$(sort out)" = "$(printf '0 0\n1 0\n1 1\n1 2\n2 0')" ] || fail "printed: $(cat out)"
expect_text err '^mpirun: rank 1 (process [0-9]* on .*) exited with code 7 and is lost; it is started again (2 of at most 2 times)$'
expect 7 "$MPIRUN" --enable-recovery --max-restarts 1 -n 3 sh alone
expect_text err 'exited with code 7 and is lost; ending the job, as --max-restarts is 1$'
expect 0 "$MPIRUN" --enable-recovery --max-restarts 2 --outfile-pattern kept.%r -n 3 sh alone
[ "$(cat kept.1)" = "$(printf '1 0\n1 1\n1 2')" ] || fail "the file has: $(cat kept.1)"
finish
