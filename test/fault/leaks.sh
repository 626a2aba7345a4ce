#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# WEFT_CHECK=leaks: each rank lists in MPI_Finalize what the program still has, and the messages that nobody has
# received; nothing if all is given back, and nothing without the variable.
. "$(dirname "$0")/judge.sh"
compile fault/leaks.c

silent() {
    [ ! -s err ] || fail "nothing to tell: $(head -c 300 err)"
}

for ranks in 1 2 5; do
    WEFT_CHECK=leaks expect 0 timeout -k 5 20 "$MPIRUN" -n $ranks ./leaks none
    silent
    WEFT_CHECK=all expect 0 timeout -k 5 20 "$MPIRUN" -n $ranks ./leaks none
    silent
    expect 0 timeout -k 5 20 "$MPIRUN" -n $ranks ./leaks some
    silent
done

WEFT_CHECK=collectives,leaks expect 0 timeout -k 5 20 "$MPIRUN" -n 3 ./leaks some
for rank in 0 1 2; do
    while read -r line; do
        expect_text err "^weft: rank $rank: $line\$"
    done << LINES
1 communicator was never freed: 1 of MPI_Comm_split
1 group was never freed: 1 of MPI_Comm_group
2 datatypes were never freed: 2 of MPI_Type_contiguous
1 operation was never freed: 1 of MPI_Op_create
2 requests were never completed or freed: 1 of MPI_Irecv, 1 of MPI_Recv_init
1 matched message was never received: 1 of MPI_Mprobe
2 messages were never received: 2 from rank $(((rank + 2) % 3)) of MPI_COMM_WORLD with tag 5 (4 bytes the first)
LINES
done
[ "$(wc -l < err)" = 21 ] || fail "more than seven lines a rank: $(head -c 3000 err)"

WEFT_CHECK=collectives,leeks expect 0 timeout -k 5 20 "$MPIRUN" -n 2 ./leaks some
expect_text err 'WEFT_CHECK is "collectives,leeks", which is not a value it can take; using none'
nothing_left
finish
