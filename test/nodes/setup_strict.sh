# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder and of outside with `. setup_strict.sh`: the functions of
# setup_hosts.sh, the provider of test/fake/fabric, and MPI programs in $work.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
: "${MPICC:=$BUILD/tools/mpicc}" "${CC:=cc}"

grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h" || {
    echo "this build has no libfabric"
    exit 77
}
"$SOURCE/test/fake/fabric/build" "$CC" "$work" || exit 1
FI_PROVIDER_PATH=$work WEFT_FABRIC=weft_strict
export FI_PROVIDER_PATH WEFT_FABRIC

# compile SOURCE...: make programs in $work from paths below test
compile() {
    for source in "$@"; do
        program=${source##*/}
        "$MPICC" -std=gnu11 -O1 -g -I"$SOURCE/test/mpi" "$SOURCE/test/$source" -o "$work/${program%.c}" -lm -pthread || exit 1
    done
}

# The command that starts ranks, spread over the hosts. Slurm does it, except for jobs that must
# fail, which mpirun starts: with PMIx, Slurm 22.05 may wait for ever for a cancelled job step and
# all later ones (3 of 25 on a busy machine).
by_slurm="$SOURCE/test/cluster/uneven -np"
by_mpirun="$MPIRUN --launch-agent agent --map-by node -host \$CLUSTER_HOSTS -np"
: "${start_ranks:=$by_slurm}"

# on_strict HOSTS: runs the lines "WORDS;RANKS PROGRAM ARGUMENT..." of stdin, each with these words
# of FI_WEFT_STRICT. For line N `code_of N` is the exit code, and the file N.text has the output.
on_strict() {
    cat >lines
    cat >all <<EOF2
start_ranks="$start_ranks"
EOF2
    cat >>all <<'EOF2'
number=0
while IFS=';' read -r words command; do
    number=$((number + 1)) code=0
    FI_WEFT_STRICT=$words timeout -k 1 40 $start_ranks $command >$number.text 2>&1 </dev/null || code=$?
    echo $code >$number.code
done <lines
EOF2
    on --hosts "$1" --slots 64 --slurm -- sh all
    [ $got -eq 0 ] || fail "exit code $got of the cluster: $(cat out err)"
}

# of N: line N and its output, for messages
of() {
    echo "$(sed -n "$1p" lines): $(head -c 600 "$1.text")"
}

code_of() {
    cat "$1.code"
}
