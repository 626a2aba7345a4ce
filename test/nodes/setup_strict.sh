# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder and of outside with `. setup_strict.sh`: the functions of
# setup_hosts.sh, the provider of test/fake/fabric, and MPI programs in $work.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
: "${MPICC:=$BUILD/tools/mpicc}" "${CC:=cc}"

needs_libfabric
# Tests of this kind may run at the same time, and build it once.
strict=$BUILD/test-out/libweft_strict-fi.so
(
    flock 9
    [ -e "$strict" ] && [ -z "$(find "$SOURCE/test/fake/fabric" -newer "$strict")" ] || "$SOURCE/test/fake/fabric/build" "$CC" "${strict%/*}"
) 9>"$strict.lock" && cp "$strict" . || exit 1
FI_PROVIDER_PATH=$work WEFT_FABRIC=weft_strict
export FI_PROVIDER_PATH WEFT_FABRIC

# The programs, as paths below test; on_strict compiles those that it runs.
sources=

# compile SOURCE...: make programs in $work
compile() {
    for source in "$@"; do
        program=${source##*/}
        "$MPICC" -std=gnu11 -O1 -g -I"$SOURCE/test/mpi" "$SOURCE/test/$source" -o "$work/${program%.c}" -lm -pthread || exit 1
    done
}

# The lines of $1 that begin with a case of this run, without that word; all, where a test has no cases.
lines_of_cases() {
    for case in $cases; do
        sed -n "s/^$case //p" "$1"
    done
    [ -n "$cases" ] || cat "$1"
}

# on_strict HOSTS: runs the lines "[CASE] WORDS;RANKS PROGRAM ARGUMENT..." of stdin, each with these words
# of FI_WEFT_STRICT and neighbouring ranks on different hosts. The file `lines` has those that were run,
# without CASE; of its line N `code_of N` is the exit code, and the file N.text has the output. mpirun starts
# the ranks, not Slurm: a start by Slurm takes twice as long, and with PMIx Slurm 22.05 may wait for ever for
# a job step that was cancelled, as after MPI_Abort, and for all later ones.
on_strict() {
    cat >table
    lines_of_cases table >lines
    for source in $sources; do
        program=${source##*/}
        ! grep -q "\./${program%.c}\>" lines || compile $source
    done
    cat >all <<'EOF2'
number=0
while IFS=';' read -r words command; do
    number=$((number + 1)) code=0
    FI_WEFT_STRICT=$words timeout -k 1 40 "$MPIRUN" --launch-agent agent --map-by node -host "$CLUSTER_HOSTS" -np $command \
        >$number.text 2>&1 </dev/null || code=$?
    echo $code >$number.code
done <lines
EOF2
    on --hosts "$1" -- sh all
    [ $got -eq 0 ] || fail "exit code $got of the cluster: $(cat out err)"
}

# of N: line N and its output, for messages
of() {
    echo "$(sed -n "$1p" lines): $(head -c 600 "$1.text")"
}

code_of() {
    cat "$1.code"
}
