# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder with `. setup_hosts.sh`: the functions of test/launch/setup.sh,
# and hosts. Programs on the hosts see $work.
. "$(dirname "$0")/../launch/setup.sh"

# Each host has its own /tmp, which would hide a build there.
case $BUILD in
/tmp/*) shared="--share $BUILD" ;;
*) shared= ;;
esac

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
