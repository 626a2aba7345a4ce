# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder with `. judge.sh`: what test/launch/setup.sh has, MPI programs in $work, and
# what a job may leave behind: nothing.
. "$(dirname "$0")/../launch/setup.sh"
: "${MPICC:=$BUILD/tools/mpicc}"
host=$(hostname)
# Bad ends are wanted here, and are to look like those of programs without sanitizers.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:detect_leaks=0
TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}handle_segv=0
export ASAN_OPTIONS TSAN_OPTIONS

# compile SOURCE...: programs in $work, from paths below test
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

# Processes whose command or program is in $work; one that ended and was not waited for has no command.
no_process() {
    ! ps -eo stat=,args= | grep -v '^Z' | grep -q "[ /]${work##*/}/"
}

# Segments with a name are called after the mpirun that started the job.
no_orphaned_segment() {
    for segment in /dev/shm/weft-*; do
        pid=${segment#/dev/shm/weft-}
        [ ! -e "$segment" ] || kill -0 "${pid%%-*}" 2>/dev/null || return 1
    done
}

# What mpirun has started, and each file of it, is gone within 10 s.
nothing_left() {
    until_true no_process || ps -eo pid=,stat=,args= | grep "${work##*/}/" >&2
    until_true no_orphaned_segment
    until_true is_scratch_gone
}

# is_blocked RANK: it has said that it blocks, and sleeps
is_blocked() {
    [ -s "rank.$1" ] && grep -q '^State:[[:space:]]*S' "/proc/$(cat "rank.$1")/status"
}
