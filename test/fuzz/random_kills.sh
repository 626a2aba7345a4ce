#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks, PMIx servers, daemons and mpirun itself are killed at random moments, with 4, 16 and 64
# ranks on this host and on three hosts of test/cluster (which need root). FAULT_SEED repeats the
# choices, FAULT_TRIALS=10 makes ten times as many.
. "$(dirname "$0")/../fault/judge.sh"
: "${PYTHON:=python3}"
: "${FAULT_SEED:=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
export FAULT_SEED PYTHONDONTWRITEBYTECODE=1
echo "FAULT_SEED=$FAULT_SEED FAULT_TRIALS=${FAULT_TRIALS:=1}"
compile fuzz/busy_rank.c
# Processes are found by the name of their program.
program=busy$$
mv busy_rank $program
kills="$PYTHON $SOURCE/test/fuzz/random_kills.py $MPIRUN $program"

FAULT_TRIALS=$FAULT_TRIALS $kills || fail "on this host"
case $BUILD in
/tmp/*) shared="--share $BUILD" ;;
*) shared= ;;
esac
# A job there takes longer.
"$SOURCE/test/cluster/hosts" --hosts 3 --share "$work" $shared -- \
    env FAULT_TRIALS="$(echo "$FAULT_TRIALS" | awk '{ print $1 / 3 }')" $kills --hosts h1,h2,h3 </dev/null
code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || fail "on three hosts"
finish
