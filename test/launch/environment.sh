#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The variables of ranks, working directories, several programs, and mpirun inside mpirun.
. "$(dirname "$0")/setup.sh"

expect 0 "$MPIRUN" -n 3 sh -c 'echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE \
    $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_COMM_WORLD_NODE_RANK \
    $OMPI_UNIVERSE_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS $RANK/$WORLD_SIZE \
    $LOCAL_RANK/$LOCAL_WORLD_SIZE $PMIX_RANK $MASTER_ADDR'
for r in 0 1 2; do
    expect_text out "^$r/3 $r/3 $r 3 $r/3 $r/3 $r/3 $r 127.0.0.1$"
done
expect 0 env MASTER_ADDR=host MASTER_PORT=7 "$MPIRUN" -n 1 sh -c 'echo $MASTER_ADDR $MASTER_PORT'
expect_output 'host 7'

# show OPTION...: A, B and C in a rank
show() {
    expect 0 env A=a B=b C=c "$MPIRUN" -n 1 "$@" /bin/sh -c 'echo "$A,$B,$C"'
}
show && expect_output a,b,c
show -x A=1 -x B && expect_output 1,b,c
show --x=A=1 -genv B 2 -env C 3 && expect_output 1,2,3
show -genvnone -env A 1 && expect_output 1,,
show -genvlist A,C && expect_output a,,c
show -envlist B --genv C 4 && expect_output ,b,4
show -genvnone -envall && expect_output a,b,c
show -genvnone -x B && expect_output ,b,
expect 0 env PMIX_RANK=9 PMIX_NAMESPACE=x PMI_RANK=9 SLURM_PROCID=9 SLURM_STEP_ID=1 SLURM_JOB_ID=5 \
    "$MPIRUN" -n 1 sh -c 'echo $PMIX_RANK,$PMI_RANK,$SLURM_PROCID,$SLURM_STEP_ID,$SLURM_JOB_ID'
expect_output 0,,,,5

# A misspelt or wrong variable is warned of once, whether ranks read it too or not.
printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n' >inits.c
"${MPICC:-$BUILD/tools/mpicc}" -o inits inits.c || exit 1
for program in true ./inits; do
    expect 0 env WEFT_LANCHER=ssh WEFT_LAUNCH_RADIX=0 "$MPIRUN" -n 2 $program
    [ "$(grep -c 'no variable WEFT_LANCHER; the nearest is WEFT_LAUNCHER' err)" = 1 ] ||
        fail "misspelt: $(cat err)"
    [ "$(grep -c 'WEFT_LAUNCH_RADIX is "0".* using 32' err)" = 1 ] || fail "wrong: $(cat err)"
done
expect 0 "$MPIRUN" -n 2 -x WEFT_LANCHER=ssh ./inits
[ "$(grep -c 'no variable WEFT_LANCHER' err)" = 1 ] || fail "of ranks: $(cat err)"
expect 2 env WEFT_LAUNCHER=by-foot "$MPIRUN" -n 1 true
expect_text err 'by-foot'

mkdir there
printf '#!/bin/sh\npwd\n' >there/program
chmod +x there/program
for option in -wdir --wdir -wd -cwd --wd=there; do
    case $option in *=*) set -- $option ;; *) set -- $option there ;; esac
    expect 0 "$MPIRUN" -n 1 "$@" ./program
    expect_output "$work/there"
done

expect 2 "$MPIRUN" -n 1 echo a : -n 1
expect 0 "$MPIRUN" -l -n 2 echo a : -n 1 -env X 5 sh -c 'echo b $X $RANK $WORLD_SIZE' : -np 2 echo c
[ "$(sort out)" = "$(printf '[0] a\n[1] a\n[2] b 5 2 5\n[3] c\n[4] c')" ] || fail "MPMD: $(cat out)"

expect 0 "$MPIRUN" -n 2 "$MPIRUN" -n 2 sh -c 'echo $RANK of $WORLD_SIZE'
[ "$(sort out | uniq -c | tr -s ' ' | tr '\n' ';')" = " 2 0 of 2; 2 1 of 2;" ] ||
    fail "nested: $(cat out)"
expect 3 "$MPIRUN" -n 2 "$MPIRUN" -n 2 sh -c '[ $RANK = 0 ] || exit 3; exec sleep '$nap

# Ranks see no files of mpirun's but the pipe for notes, and the limits are as before.
expect 0 "$MPIRUN" -n 200 sh -c 'ls /proc/self/fd </dev/null | grep -vx "${WEFT_NOTES%%:*}"'
[ "$(sort -u out)" = "$(ls /proc/self/fd </dev/null)" ] || fail "files: $(sort -u out)"
expect 0 "$MPIRUN" -n 200 sh -c 'ulimit -n'
[ "$(sort -u out)" = "$(ulimit -n)" ] || fail "limits: $(sort -u out)"
finish
