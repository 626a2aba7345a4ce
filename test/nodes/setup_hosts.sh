# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder with `. setup_hosts.sh`: the functions of test/launch/setup.sh,
# and hosts. Programs on the hosts see $work.
. "$(dirname "$0")/../launch/setup.sh"

# Each host has its own /tmp, which would hide a build there.
case $BUILD in
/tmp/*) shared="--share $BUILD" ;;
*) shared= ;;
esac

# To be called where a test, or a case of it, is about libfabric
needs_libfabric() {
    grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h" && return
    echo "this build has no libfabric"
    [ $failures -eq 0 ] || exit 1
    exit 77
}

# fabric CASE: the options of mpirun for ranks that talk over sockets (tcp) or libfabric (ofi)
fabric() {
    case $1 in
    tcp) options= ;;
    ofi)
        needs_libfabric
        options='-x WEFT_FABRIC=tcp;ofi_rxm'
        ;;
    esac
}

# jobs_at_once PROGRAM HOW...: jobs of four ranks, all at the same time on two hosts: ./PROGRAM HOW with the options of
# `fabric`; HOW.code and HOW.text of each
jobs_at_once() {
    program=$1
    shift
    rm -f *.code *.text
    cat >all <<EOT
for how in $*; do
    {
        timeout -k 1 100 '$MPIRUN' --launch-agent agent --map-by node -host h1:2,h2:2 -np 4 \$options -x WEFT_UNRECEIVED_AFTER=1 ./$program \$how >\$how.text 2>&1 </dev/null
        echo \$? >\$how.code
    } &
done
wait
EOT
    export options
    expect_on 0 --hosts 2 -- sh -c "cd '$work' && sh all"
}

# expect_end HOW CODE: how one of these jobs has ended
expect_end() {
    [ "$(cat $1.code)" -eq $2 ] || fail "$1: exit code $(cat $1.code), expected $2: $(head -c 300 $1.text)"
}

# expect_ends PROGRAM SAID WRONG RIGHT: over the fabric of each case, the jobs of ./PROGRAM with the words WRONG end with
# exit code 16 and say SAID, and those with the words RIGHT end well and say nothing
expect_ends() {
    for case in $cases; do
        fabric $case
        jobs_at_once $1 $3
        for how in $3; do
            expect_end $how 16
            expect_text $how.text "$2"
        done
        jobs_at_once $1 $4
        for how in $4; do
            expect_end $how 0
            [ ! -s $how.text ] || fail "$case $how: printed: $(head -c 300 $how.text)"
        done
    done
}

# on OPTION... -- COMMAND...: run a command on the login host of a new cluster, with output in the
# files out and err
on() {
    timeout -k 5 150 "$SOURCE/test/cluster/hosts" --share "$work" $shared "$@" >out 2>err </dev/null
    got=$?
    [ $got -ne 77 ] || {
        cat out
        exit 77
    }
}

# expect_on CODE OPTION... -- COMMAND...
expect_on() {
    expected=$1
    shift
    on "$@"
    [ $got -eq "$expected" ] || fail "exit code $got, expected $expected: $*: $(head -c 600 err)"
}

# lines PATTERN: the number of lines of out that match
lines() {
    grep -c -e "$1" out
}

# sh left PROGRAM HOST...: run in $work on the login host; prints what is left of a job on each host
# after at most 10 s
cat >"$work/left" <<'EOT'
program=$1
shift
for host; do
    tries=0
    while left=$(agent $host "cat /proc/[0-9]*/comm | grep -x $program; ls -d /dev/shm/weft-* /tmp/weft-* 2>/dev/null"); [ -n "$left" ] && [ $tries -lt 50 ]; do
        sleep 0.2
        tries=$((tries + 1))
    done
    echo "left on $host: $left."
done
EOT
