#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --enable-recovery: ranks die, the others go on; exit codes, texts, nothing left behind.
. "$(dirname "$0")/setup.sh"
build_pmi_rank
on="$MPIRUN --enable-recovery"

# Rank R of N goes on when the last line but one says that the others are lost.
for lost in 0 2 6; do
    expect 0 $on -n 7 sh -c "[ \$RANK -ne $lost ] || kill -9 \$\$; echo \$WEFT_RECOVERY"
    [ "$(grep -c '^yes$' out)" -eq 6 ] || fail "not six ranks go on: $(cat out)"
    expect_text err "^mpirun: rank $lost (process [0-9]* on .*) was killed by signal 9 (Killed) and is lost; the job goes on without it\$"
    expect_text err "^mpirun: 1 of 7 ranks was lost: $lost\$"
    [ "$(wc -l <err)" -eq 2 ] || fail "more is said: $(cat err)"
done
expect 0 $on -n 3 true
[ ! -s err ] || fail "printed on stderr: $(cat err)"
expect 0 "$MPIRUN" -disable-auto-cleanup -n 3 sh -c '[ $RANK -ne 1 ] || exit 4'
expect_text err 'rank 1 .* exited with code 4 and is lost; the job goes on'

# All are lost; one alone is lost.
expect 5 $on -n 3 sh -c 'exit 5'
expect_text err '^mpirun: all 3 ranks were lost$'
expect_text err 'is lost; no rank is left$'
expect 137 $on -n 1 sh -c 'kill -9 $$'
expect_text err '^mpirun: the only rank was lost$'

# What counts as lost in an MPI program; an exit code after MPI_Finalize is the job's.
expect 0 $on -n 3 ./pmi_rank open exit=1,0 fences close
expect_text err 'rank 1 .* exited without calling MPI_Finalize or MPI_Session_finalize and is lost'
expect 4 $on -n 3 ./pmi_rank open board close exit=1,4
[ ! -s err ] || fail "printed on stderr: $(cat err)"
expect 3 $on -n 5 ./pmi_rank open kill=0 close exit=4,3
expect_text err '1 of 5 ranks was lost: 0$'

# Aborts end the job, those because of a lost rank too.
expect 7 $on -n 3 ./pmi_rank open board abort=1,7 pause
expect_text err 'rank 1 .* aborted the job with code 7: told to abort'
expect 78 $on -n 3 ./pmi_rank open kill=0 lost_peer=1,78 pause
expect_text err 'rank 1 .* aborted the job with code 78'
expect 124 $on -n 3 --timeout 1 sh -c '[ $RANK -eq 0 ] && kill -9 $$; exec sleep 60'

# A fence never waits for a rank that is lost, whether before MPI_Init, after it, or while others are in the fence.
for n in 2 3 5; do
    for i in 1 2 3 4 5 6; do
        expect 0 $on -n $n ./pmi_rank kill=$((i % n)) open fences nodes close
        expect 0 $on -n $n ./pmi_rank open kill=$((i % n)) nodes fences halves close
    done
done
expect 0 $on -n 7 ./pmi_rank open board nodes halves fences late close
[ ! -s err ] || fail "printed on stderr: $(cat err)"

# What a lost rank has left running ends with it; segments end with the job.
cat >rank <<EOF
touch /dev/shm/\$PMIX_NAMESPACE.\$RANK
echo \$PMIX_NAMESPACE >job
sleep $nap &
[ \$RANK -ne 1 ] || kill -9 \$\$
until [ -e over ]; do sleep 0.02; done
EOF
$on -n 3 sh rank >out 2>err </dev/null &
mpirun=$!
until_true grep -q 'rank 1 .* is lost' err
until_true has_naps 2
touch over
wait $mpirun || fail "exit code $?, expected 0"
expect_nothing_left
ls /dev/shm/"$(cat job)".* >/dev/null 2>&1 && fail "segments are left"

# mpirun itself is killed.
rm -f over
$on -n 3 sh rank >out 2>err </dev/null &
mpirun=$!
until_true grep -q 'rank 1 .* is lost' err
kill -KILL $mpirun
wait $mpirun 2>/dev/null
expect_nothing_left

expect 2 "$MPIRUN" --enable-recovery --launcher prrte -n 2 true
expect_text err 'enable-recovery is not for prterun'
finish
