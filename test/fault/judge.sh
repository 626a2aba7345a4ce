# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder with `. judge.sh`: the functions of test/launch/setup.sh, MPI
# programs in $work, and checks that a job leaves nothing behind.
. "$(dirname "$0")/../launch/setup.sh"
: "${MPICC:=$BUILD/tools/mpicc}"
host=$(hostname)
# These tests make programs fail, and the failures must look like those of programs without
# sanitizers.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:detect_leaks=0
TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}handle_segv=0
export ASAN_OPTIONS TSAN_OPTIONS

# compile SOURCE...: make programs in $work from paths below test
compile() {
    for source in "$@"; do
        program=${source##*/}
        "$MPICC" -O1 -g -Wall -Wextra "$SOURCE/test/$source" -o "$work/${program%.c}" -pthread || exit 1
    done
}

skip() {
    echo "$*"
    exit 77
}

# No process has its command or program in $work. A zombie does not count.
no_process() {
    ! ps -eo stat=,args= | grep -v '^Z' | grep -q "[ /]${work##*/}/"
}

# The name of a segment contains the process id of the mpirun that started the job.
orphaned_segments() {
    for segment in /dev/shm/weft-*; do
        pid=${segment#/dev/shm/weft-}
        [ ! -e "$segment" ] || kill -0 "${pid%%-*}" 2>/dev/null || echo "$segment"
    done
}
# What others have left before is not this test's.
orphaned_before=$(orphaned_segments)

no_orphaned_segment() {
    ! orphaned_segments | grep -vxFq -e "$orphaned_before"
}

# All processes that mpirun has started, and all files of the job, must be gone within 10 s.
nothing_left() {
    until_true no_process || ps -eo pid=,stat=,args= | grep "${work##*/}/" >&2
    until_true no_orphaned_segment
    until_true is_scratch_gone
}

# is_blocked RANK: the rank has written its file, and sleeps
is_blocked() {
    [ -s "rank.$1" ] && grep -q '^State:[[:space:]]*S' "/proc/$(cat "rank.$1")/status"
}
