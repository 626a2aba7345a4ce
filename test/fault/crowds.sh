#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Many more ranks than cores: results are right, and ranks that wait leave the cores to other
# processes.
. "$(dirname "$0")/judge.sh"
compile fault/crowd.c fault/idle.c

for ranks in 16 64; do
    expect 0 "$MPIRUN" -n $ranks ./crowd
    [ ! -s err ] || fail "$ranks ranks: $(cat err)"
done

# 15 ranks wait for 2 s; if they polled all the time, every core would spend 2000 ms.
expect 0 "$MPIRUN" -n 16 ./idle 2
[ "$(cat out)" -le 400 ] || fail "16 idle ranks have used $(cat out) ms of processor time in 2 s"
nothing_left
finish
