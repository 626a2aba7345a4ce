#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The test sends SIGKILL to ranks that sleep in MPI, and to mpirun itself.
. "$(dirname "$0")/judge.sh"
compile fault/ends.c

# start WHERE: start four ranks, which all sleep there when it returns; mpirun's process is $mpirun
start() {
    rm -f rank.*
    "$MPIRUN" -n 4 ./ends "$1" wait >out 2>err </dev/null &
    mpirun=$!
    for rank in 0 1 2 3; do
        until_true is_blocked $rank
    done
}

# kill_rank WHERE RANK
kill_rank() {
    start "$1"
    kill -9 "$(cat "rank.$2")"
    wait $mpirun
    code=$?
    [ $code -eq 137 ] || fail "exit code $code, not 137: $(cat err)"
    expect_text err "^mpirun: rank $2 (process $(cat "rank.$2") on $host) was killed by signal 9"
    nothing_left
}
kill_rank recv 0
kill_rank recv 3
kill_rank allreduce 1
kill_rank barrier 0
kill_rank pause 2
WEFT_SHM=file
export WEFT_SHM
kill_rank allreduce 2

for where in recv allreduce pause; do
    start $where
    kill -9 $mpirun
    wait $mpirun 2>/dev/null
    nothing_left
done

# A rank that ignores SIGTERM, and whose child does not end
printf '#!/bin/sh\ntrap "" TERM\n./ends recv wait 3 &\nwait\nwait\n' >stubborn
chmod +x stubborn
"$MPIRUN" -n 2 ./ends recv kill 0 : -n 1 ./stubborn >out 2>err </dev/null
[ $? -eq 137 ] || fail "a stubborn rank: $(cat err)"
nothing_left
finish
