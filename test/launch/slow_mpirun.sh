#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# However slow mpirun and the PMIx server are, the verdict is that of the ranks: both are stopped while
# the ranks end. If the server was killed before they ended, it is that of the server.
. "$(dirname "$0")/setup.sh"
build_pmi_rank

# The PMIx server of the job whose mpirun is $job
server() {
    for child in $(cat /proc/$job/task/$job/children); do
        [ "$(cat /proc/$child/comm)" != weft-pmix ] || echo $child
    done
}

all_there() {
    [ "$(ls there.* | wc -l)" -eq 4 ]
}

# Only zombies are left of the ranks.
have_ended() {
    for child in $(cat /proc/$job/task/$job/children); do
        ! grep -qx pmi_rank /proc/$child/comm || grep -q 'State:.Z' /proc/$child/status || return 1
    done
}

# verdict CODE WORD...: what mpirun returns when it has slept through the end of its ranks
verdict() {
    expected=$1
    shift
    rm -f go there.*
    "$@" >out 2>err &
    job=$!
    until_true all_there
    stopped="$job $(server)"
    kill -STOP $stopped
    : >go
    until_true have_ended
    kill -CONT $stopped
    wait $job
    got=$?
    [ $got -eq "$expected" ] || fail "exit code $got, expected $expected: $*: $(head -c 300 err)"
}

verdict 0 "$MPIRUN" -n 4 ./pmi_rank open go close
[ ! -s err ] || fail "printed: $(cat err)"
verdict 1 "$MPIRUN" -n 4 ./pmi_rank open go exit=2,0 close
expect_text err 'rank 2 .* exited without calling MPI_Finalize'
verdict 7 "$MPIRUN" -n 4 ./pmi_rank open go abort=3,7 close
expect_text err 'rank 3 .* aborted the job with code 7: told to abort'
verdict 7 "$MPIRUN" -n 4 ./pmi_rank open go lost_peer=0,16 lost_peer=1,16 abort=3,7 close
expect_text err 'rank 3 .* aborted the job with code 7: told to abort'

rm -f go there.*
"$MPIRUN" -n 4 ./pmi_rank open go exit=0,16 exit=1,16 exit=2,16 exit=3,16 >out 2>err &
job=$!
until_true all_there
kill -STOP $job
kill -KILL $(server)
: >go
until_true have_ended
kill -CONT $job
wait $job
got=$?
[ $got -eq 1 ] || fail "exit code $got, expected 1, since the server was killed: $(head -c 300 err)"
expect_text err 'PMIx server .* killed by signal 9'

# Python closes descriptors that its children do not know of: then PMIx alone tells.
cat >wrap.py <<'EOF'
import subprocess
import sys
sys.exit(subprocess.run(sys.argv[1:]).returncode)
EOF
expect 0 "$MPIRUN" -n 4 "${PYTHON:-python3}" wrap.py ./pmi_rank open board close
[ ! -s err ] || fail "printed: $(cat err)"
expect 1 "$MPIRUN" -n 4 "${PYTHON:-python3}" wrap.py ./pmi_rank open exit=2,0 close
expect_text err 'rank 2 .* exited without calling MPI_Finalize'
expect 7 "$MPIRUN" -n 4 "${PYTHON:-python3}" wrap.py ./pmi_rank open abort=3,7 close
expect_text err 'rank 3 .* aborted the job with code 7: told to abort'
# Something else in the pipe, while ranks are connected: PMIx tells of their ends, and none is killed.
cat >garbage.py <<'EOF'
import os
import sys
import time
if os.environ["PMIX_RANK"] == "1" and os.fork() == 0:
    while not all(os.path.exists(f"there.{rank}") for rank in range(3)):
        time.sleep(0.01)
    os.write(int(os.environ["WEFT_NOTES"].split(":")[0]), b"garbage" * 9)
    open("go", "w").close()
    sys.exit()
os.execv(sys.argv[1], sys.argv[1:])
EOF
rm -f go there.*
expect 0 "$MPIRUN" -n 3 "${PYTHON:-python3}" garbage.py ./pmi_rank open go board close
expect_text err 'a program has written to descriptor'
# A file of a program's own in the place of the descriptor is left alone.
cat >own.py <<'EOF'
import os
import sys
own = os.open("own." + os.environ["PMIX_RANK"], os.O_CREAT | os.O_WRONLY)
os.dup2(own, int(os.environ["WEFT_NOTES"].split(":")[0]), inheritable=True)
os.execv(sys.argv[1], sys.argv[1:])
EOF
expect 0 "$MPIRUN" -n 2 "${PYTHON:-python3}" own.py ./pmi_rank open close
[ -e own.1 ] && [ ! -s own.0 ] && [ ! -s own.1 ] || fail "a file of a rank was written to: $(ls -l own.*)"
finish
