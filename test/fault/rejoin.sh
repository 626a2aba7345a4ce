#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --enable-recovery --max-restarts: a rank that dies is started again while the others live on; they meet in a
# new session, and training ends with the loss of an undisturbed run. rejoin.c has the training.
. "$(dirname "$0")/judge.sh"
"$MPICC" -O1 -g -Wall -Wextra "$SOURCE/test/fault/rejoin.c" -o rejoin -lm || exit 1
compile fault/ends.c

# rejoin MOST DEATHS SEED OPTION...: all ranks train to the end, and at most MOST are started again as they were lost
rejoin() {
    most=$1 deaths=$2 seed=$3
    shift 3
    rm -f checkpoint
    expect 0 timeout -k 5 60 "$MPIRUN" --enable-recovery --max-restarts "$most" -n ${#deaths} "$@" ./rejoin checkpoint "$seed" "$deaths"
    grep -q '^trained in [0-9]* sessions$' out || fail "deaths $deaths, seed $seed: printed \"$(cat out)\""
    grep -q 'was killed by signal 9 .* is lost; it is started again' err || fail "deaths $deaths, seed $seed: $(cat err)"
}

# One rank: the others are the same processes to the end.
for seed in 1 2 3; do
    rejoin 1 010 $seed
    expect_text err "^mpirun: rank 1 (process [0-9]* on $host) was killed by signal 9 (Killed) and is lost; it is started again (1 of at most 1 times)$"
    expect_output 'trained in 2 sessions'
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one line: $(cat err)"
    rejoin 1 1000 $seed
    expect_output 'trained in 1 sessions'
    rejoin 1 01 $seed
    rejoin 1 001 $seed --simulate-hosts 2
done

# Several ranks, several times, and while the others meet again, so that some of these may end, too
for seed in 1 2 3 4; do
    rejoin 12 1111 $seed
    rejoin 20 30201 $seed
    rejoin 8 0110 $seed --simulate-hosts 2
    rejoin 12 210 $seed --simulate-hosts 3
done

# Segments that have names
WEFT_SHM=file
export WEFT_SHM
rejoin 12 1111 1
rejoin 20 30201 2
unset WEFT_SHM
nothing_left

# A program that ends at the first error is started again as a whole, which counts as one loss.
rm -f checkpoint
expect 0 timeout -k 5 60 "$MPIRUN" --enable-recovery --max-restarts 1 -n 3 ./rejoin checkpoint 1 001 fatal
expect_output 'trained in 1 sessions'
for rank in 0 1; do
    expect_text err "^mpirun: rank $rank .* exited with code [0-9]*, as another rank was lost, and is started again, too$"
done

# The last one is lost for good, and the job ends; so it does by an abort.
rm -f checkpoint
expect 137 timeout -k 5 60 "$MPIRUN" --enable-recovery --max-restarts 1 -n 3 ./rejoin checkpoint 1 020
expect_text err '^mpirun: rank 1 .* was killed by signal 9 (Killed) and is lost; ending the job, as --max-restarts is 1$'
expect 5 timeout -k 5 60 "$MPIRUN" --enable-recovery --max-restarts 3 -n 3 ./ends recv abort=5 1
expect_text err 'rank 1 .*aborted the job with code 5'
grep -q 'started again' err && fail "started again after an abort: $(cat err)"
nothing_left
finish
