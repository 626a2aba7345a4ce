#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that no launcher has started: RANK, WORLD_SIZE and MASTER_ADDR, MASTER_PORT or a file; their ends, and strangers.
. "$(dirname "$0")/setup.sh"
: "${PYTHON:=python3}"
unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT WEFT_BOOTSTRAP WEFT_JOB_TOKEN TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE
build() {
    "$MPICC" -std=gnu11 -O1 -Wall -Wextra -I"$SOURCE/test/mpi" -o "$1" "$2" -lm -pthread || exit 1
}
for program in coll/reductions pt2pt/matching comm/parts start/sessions; do
    build "${program#*/}" "$SOURCE/test/mpi/$program.c"
done
build ranks_alone "$SOURCE/test/launch/ranks_alone.c"

# start RANK SIZE COMMAND...: in the background; its exit code goes to code.RANK
start() {
    rank=$1 size=$2
    shift 2
    (
        # shellcheck disable=SC2086
        env RANK=$rank WORLD_SIZE=$size $meeting timeout -k 5 50 "$@" >out.$rank 2>err.$rank </dev/null
        echo $? >code.$rank
    ) &
}

# by_hand SIZE CODE COMMAND...: all ranks; each ends with CODE ("any": not 0)
by_hand() {
    size=$1 expected=$2
    shift 2
    rm -f out.* err.* code.*
    meeting=${place:-MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)}
    number=0
    while [ $number -lt "$size" ]; do
        start $number "$size" "$@"
        number=$((number + 1))
    done
    wait
    number=0
    while [ $number -lt "$size" ]; do
        got=$(cat code.$number)
        if [ "$expected" = any ]; then
            [ "$got" -ne 0 ] && [ "$got" -ne 124 ] && [ "$got" -ne 137 ] || [ "$number" = "$killed" ] ||
                fail "rank $number of $size ended with $got: $*: $(head -c 300 err.$number)"
        else
            [ "$got" -eq "$expected" ] || fail "rank $number of $size ended with $got, not $expected: $*: $(head -c 300 err.$number)"
        fi
        number=$((number + 1))
    done
}

expect_quiet() {
    [ -z "$(cat out.* err.*)" ] || fail "printed: $(cat out.* err.* | head -c 600)"
}

# ---- programs ----
killed=none
for size in 1 2 3 7; do
    for program in reductions matching parts; do
        by_hand $size 0 ./$program
        expect_quiet
    done
    for way in alone around after one; do
        by_hand $size 0 ./sessions $way
        expect_quiet
    done
done
place="WEFT_BOOTSTRAP=file:$work/meeting"
for size in 2 3; do
    by_hand $size 0 ./reductions
    expect_quiet
    [ ! -e meeting ] || fail "the file is left behind"
    # The next job finds the file of one that has been killed.
    env RANK=0 WORLD_SIZE=$size $place ./ranks_alone >/dev/null 2>&1 &
    until_true test -s meeting
    kill -9 $!
    wait
done
by_hand 2 0 ./ranks_alone
expect_quiet
place=

# Programs one after the other, and one that a rank starts
by_hand 3 0 sh -c './ranks_alone && ./ranks_alone && ./ranks_alone'
expect_quiet
by_hand 2 0 ./ranks_alone run './ranks_alone 2>refusal.$RANK; [ $? -eq 16 ] && env -u RANK -u WORLD_SIZE ./ranks_alone'
expect_text refusal.1 'this program was started by rank 1 (process [0-9]*) of a running MPI program'
by_hand 2 0 ./ranks_alone run "'$MPIRUN' -n 2 ./ranks_alone"

# Sessions: a rank that uses none for now may end in any way.
build session_end "$SOURCE/test/launch/session_end.c"
for way in '' quick next; do
    by_hand 3 0 ./session_end $way
    expect_quiet
done
by_hand 3 0 ./session_end other
[ "$(cat out.* err.*)" = 'another program' ] || fail "sessions: $(cat out.* err.*)"
by_hand 3 5 ./session_end abort

# ---- ends ----
for size in 2 3; do
    for who in 0 1; do
        by_hand $size 7 ./ranks_alone abort $who
        expect_text err.$who 'MPI_Abort was called with error code 7'
        [ "$(cat err.* | wc -l)" -eq 1 ] || fail "printed: $(cat err.*)"
        killed=$who
        by_hand $size any ./ranks_alone kill $who
        cat err.* >all
        expect_text all "rank $who .*has ended without MPI_Finalize"
        killed=none
    done
done
killed=1
by_hand 3 any ./ranks_alone leave 1
killed=none

# ---- what is missing ----
expect 16 env RANK=0 ./ranks_alone
expect_text err 'RANK is set, but WORLD_SIZE is not'
expect 16 env WORLD_SIZE=2 ./ranks_alone
expect_text err 'WORLD_SIZE is set, but RANK is not'
expect 16 env RANK=0 WORLD_SIZE=2 ./ranks_alone
expect_text err 'MASTER_ADDR is not'
expect 16 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost ./ranks_alone
expect_text err 'MASTER_PORT is not'
expect 16 env RANK=2 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1 ./ranks_alone
expect_text err 'RANK is 2; expected is 0 to 1'
expect 16 env RANK=0 WORLD_SIZE=two ./ranks_alone
expect_text err 'WORLD_SIZE is two'
expect 16 env RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=99999 ./ranks_alone
expect_text err 'MASTER_PORT is 99999'
expect 16 env RANK=0 WORLD_SIZE=2 WEFT_BOOTSTRAP=file:here ./ranks_alone
expect_text err 'expected is file:PATH with an absolute path'
expect 16 env RANK=0 WORLD_SIZE=2 WEFT_BOOTSTRAP=file:$work/none/here ./ranks_alone
expect_text err "$work/none/here cannot be written"
expect 16 env WEFT_BOOTSTRAP=torch ./ranks_alone
expect_text err 'WEFT_BOOTSTRAP is torch; expected is'
expect 16 env WEFT_BOOTSTRAP=pmix ./ranks_alone
expect_text err 'this process was not started in that way'
expect 0 env RANK=0 WEFT_BOOTSTRAP=singleton ./ranks_alone
expect 0 env MASTER_ADDR=localhost MASTER_PORT=1 ./ranks_alone
expect 0 env RANK=5 WORLD_SIZE=1 ./ranks_alone

meeting="MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port) WEFT_BOOTSTRAP_TIMEOUT=2"
rm -f code.*
start 0 4 ./ranks_alone
start 2 4 ./ranks_alone
wait
for rank in 0 2; do
    [ "$(cat code.$rank)" -eq 16 ] || fail "rank $rank of 4 ended with $(cat code.$rank)"
    expect_text err.$rank 'of 4 ranks these have not come within 2 s (WEFT_BOOTSTRAP_TIMEOUT): 1 and 3'
done
start 1 2 ./ranks_alone
wait
expect_text err.1 'rank 1 cannot reach rank 0 at 127.0.0.1:[0-9]* within the 2 s'

# Another size, the same rank twice, another token
start 0 3 ./ranks_alone
start 1 2 ./ranks_alone
wait
expect_text err.1 'this is rank 1 of 2, but rank 0 is one of 3'
start 0 3 ./ranks_alone
start 1 3 ./ranks_alone
(env RANK=1 WORLD_SIZE=3 $meeting ./ranks_alone >/dev/null 2>err.twice)
wait
cat err.1 err.twice >all
expect_text all 'has joined as rank 1 already'
start 0 2 env WEFT_JOB_TOKEN=one ./ranks_alone
start 1 2 env WEFT_JOB_TOKEN=two ./ranks_alone
wait
expect_text err.0 'these have not come within 2 s'
expect_text err.1 'another WEFT_JOB_TOKEN'
meeting="MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)"
start 0 2 env WEFT_JOB_TOKEN=one ./ranks_alone
start 1 2 env WEFT_JOB_TOKEN=one ./ranks_alone
wait
[ "$(cat code.0 code.1 | tr '\n' ' ')" = '0 0 ' ] || fail "with one token: $(cat code.0 code.1 err.0 err.1)"

# ---- strangers ----
port=$(free_port)
meeting="MASTER_ADDR=127.0.0.1 MASTER_PORT=$port"
start 0 3 sh -c 'ulimit -n 200; exec ./ranks_alone'
$PYTHON "$SOURCE/test/launch/hub_strangers.py" $port >strangers 2>&1 &
strangers=$!
until_true grep -q there strangers
start 1 3 ./ranks_alone
start 2 3 ./ranks_alone
until_true test -s code.0 -a -s code.1 -a -s code.2
kill $strangers
wait
[ "$(cat code.0 code.1 code.2 | tr '\n' ' ')" = '0 0 0 ' ] || fail "among strangers: $(cat code.? err.? strangers)"
finish
