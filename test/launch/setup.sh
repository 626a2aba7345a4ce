# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of mpirun with `. setup.sh`. They run in an empty directory $work, which is TMPDIR
# too, so that what mpirun leaves behind is seen; `finish` ends a test.
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILD:=$SOURCE/build}"
: "${MPIRUN:=$BUILD/mpirun}"
export SOURCE BUILD MPIRUN
unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc, which says how many cores there are, obeys them
. "$SOURCE/test/launch/await.sh"
# What is to be tested, of the words behind "# Cases:" in the script: run-tests gives one at a time.
cases=${*:-$(sed -n 's/^# Cases: //p' "$0")}
failures=0
work=$(mktemp -d) || exit 1
cd "$work" || exit 1
TMPDIR=$work
export TMPDIR
# The processes of this test sleep for this odd time, and are found by it.
nap=300.$$
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$0: $*" >&2
    failures=$((failures + 1))
}

# expect CODE WORD...: the command's exit code. Its output goes to the files out and err.
expect() {
    expected=$1
    shift
    timeout -k 5 60 "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$expected" ] || fail "exit code $got, expected $expected: $*: $(head -c 300 err)"
}

# A port below those that the kernel gives to connections, which other tests make meanwhile.
free_port() {
    ${PYTHON:-python3} -c '
import random, socket
while True:
    port = random.randrange(20000, 30000)
    try:
        socket.socket().bind(("127.0.0.1", port))
        break
    except OSError:
        continue
print(port)'
}

# expect_text FILE PATTERN
expect_text() {
    grep -q -e "$2" "$1" || fail "no \"$2\" in $1: $(head -c 300 "$1")"
}

# expect_output TEXT: what the last command wrote, exactly
expect_output() {
    [ "$(cat out)" = "$1" ] || fail "output \"$(head -c 300 out)\", expected \"$1\""
}

# Found without ps, which a bare machine does not have. A process that has ended has no command line.
nap_processes() {
    grep -lsaP "^sleep\\x00$nap" /proc/[0-9]*/cmdline | sed 's|/cmdline||'
}

naps() {
    nap_processes | wc -l
}

# In state $1, as in the third column of /proc/PID/stat
naps_in_state() {
    for process in $(nap_processes); do
        grep -s "^State:[[:space:]]*$1" "$process/status"
    done | wc -l
}

# until COMMAND...: wait for it to succeed, 10 s at most
until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ]; then
            fail "does not become true: $*"
            return 1
        fi
        sleep 0.05
    done
}

has_naps() {
    [ "$(naps)" -eq "$1" ]
}

is_scratch_gone() {
    [ -z "$(ls -d "$work"/weft-* 2>/dev/null)" ]
}

expect_nothing_left() {
    until_true has_naps 0
    until_true is_scratch_gone
}

# The program pmi_rank.c, in $work.
build_pmi_rank() {
    $(sed -n 's/^unit_cc //p' "$BUILD/test/settings") -o pmi_rank "$SOURCE/test/launch/pmi_rank.c" \
        "$BUILD/.libs/libweft.a" $(sed -n 's/^unit_libs //p' "$BUILD/test/settings") || exit 1
}

finish() {
    expect_nothing_left
    [ $failures -eq 0 ]
    exit
}
