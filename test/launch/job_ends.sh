#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ends that the launcher learns from its PMIx server: good ones, aborts, exits in the middle.
. "$(dirname "$0")/setup.sh"
build_pmi_rank

for ranks in 1 2 7; do
    expect 0 "$MPIRUN" -n $ranks ./pmi_rank open board nodes say close
    [ "$(grep -c " of $ranks, local . of $ranks: 0" out)" -eq $ranks ] || fail "ranks: $(cat out)"
    [ ! -s err ] || fail "printed on stderr: $(cat err)"
done

expect 77 "$MPIRUN" -n 3 ./pmi_rank open board abort=1,77 pause
expect_text err 'rank 1 .* aborted the job with code 77: told to abort'
expect 78 "$MPIRUN" -n 3 ./pmi_rank open lost_peer=1,78 pause
expect_text err 'rank 1 .* aborted the job with code 78: told to abort'
expect 1 "$MPIRUN" -n 3 ./pmi_rank open abort=0,256 pause
expect 77 "$MPIRUN" -n 1 ./pmi_rank open abort=0,77
# A rank ends while others are in a fence: PMIx 4.2 may call table entries without testing for NULL.
for _ in $(seq 50); do
    expect 137 "$MPIRUN" -n 3 ./pmi_rank open kill=2 board pause
    expect_text err 'rank 2 .* killed by signal 9'
done
expect 137 "$MPIRUN" -n 3 ./pmi_rank kill=2 open pause
expect 3 "$MPIRUN" -n 3 ./pmi_rank open exit=1,3 pause
expect 1 "$MPIRUN" -n 3 ./pmi_rank open exit=1,0 pause
expect_text err 'rank 1 .* exited without calling MPI_Finalize'
expect 4 "$MPIRUN" -n 3 ./pmi_rank open close exit=1,4
# Programs one after the other: the first one of rank 1 is seen to end while rank 0 waits in a fence of the second one.
expect 0 timeout 30 "$MPIRUN" -n 2 sh -c './pmi_rank open board linger=1,fence close && ./pmi_rank await=1,fence.gone open touch=0,fence board close'
# Before MPI_Init and after MPI_Finalize a rank may end at any time.
expect 0 "$MPIRUN" -n 2 ./pmi_rank open close : -n 1 true

# Many bad ends: none may hang, whatever the PMIx library does.
for i in 1 2 3 4 5 6 7 8; do
    expect 137 "$MPIRUN" -n 4 ./pmi_rank kill=$((i % 4)) open pause
done
finish
