# SPDX-License-Identifier: BSD-3-Clause
# Read by setup.sh, and by what its tests run on the hosts of a cluster, with `. await.sh`: to wait for
# what a job in the background does, without waiting for ever when it ends before.

# True also for a process that has ended and was not waited for yet
has_ended() {
    ! grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"
}

# await JOB SAID COMMAND...: until the command succeeds. False if the process JOB ends before that; then its
# output, the file SAID, is printed.
await() {
    awaited_job=$1 awaited_text=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        if has_ended "$awaited_job" && ! "$@" >/dev/null 2>&1; then
            echo "the job has ended before this was true: $*: $(head -c 600 "$awaited_text")" >&2
            return 1
        fi
        sleep 0.05
    done
}

are_there() {
    for file; do
        [ -e "$file" ] || return 1
    done
}

# await_files JOB SAID FILE...: until the job has made them
await_files() {
    awaited_job=$1 awaited_text=$2
    shift 2
    await "$awaited_job" "$awaited_text" are_there "$@"
}
