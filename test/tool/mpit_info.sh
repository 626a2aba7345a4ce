#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft_info --mpit lists each variable WEFT_... once, variables of each kind, events with their elements, and the tree.
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILD:=$SOURCE/build}"
failures=0
fail() {
    echo "$*"
    failures=$((failures + 1))
}

words=$("$BUILD/weft_info" --mpit 2>&1) || fail "exit code $?: $words"

# lines NUMBER PATTERN: so many lines of the output match
lines() {
    got=$(echo "$words" | grep -c -e "$2")
    [ "$got" -eq "$1" ] || fail "$got lines are like '$2', not $1"
}

variables=$("$BUILD/weft_info" --config | sed -n 's/^[* ] \(WEFT_[A-Z_]*\) = .*/\1/p')
[ -n "$variables" ] || fail "weft_info --config lists no variables"
for variable in $variables; do
    lines 1 "^  $variable: "
done
lines 1 '^  library  '
lines 1 '^        tcp  '
lines 1 '^  WEFT_CMA: int {auto, no}, each rank as it likes$'
lines 1 '^  WEFT_LAUNCHER: text, cannot be set by a rank$'
lines 1 '^  WEFT_SHM_BYTES: unsigned long, alike on all ranks$'
lines 1 '^  shm_messages_sent: counter, unsigned long long$'
lines 1 '^  unexpected_messages_most: high-water mark, unsigned long long$'
lines 1 '^  wait_time: timer, double$'
lines 1 '^  comm_transports: state, int {not_reached, self, shm, ofi, tcp}, of a communicator, continuous, readonly$'
lines 1 '^  unexpected_message: int source, int tag, unsigned long long bytes, unsigned long long queued$'
lines 1 '^  coll_allreduce_ring: counter'
if "$BUILD/weft_info" --mpit more >/dev/null 2>&1; then
    fail "--mpit takes further words"
fi
[ $failures -eq 0 ]
