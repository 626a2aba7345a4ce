#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Operations of the provider that fail: after a lost packet the job ends and names the rank and the
# failure; Weft replaces a read or a registration that is refused; an unsuitable provider is named
# with the reason.
# Cases: packets lost refused
. "$(dirname "$0")/setup_strict.sh"
sources='nodes/bulk.c nodes/lost.c'

on_strict 2 <<'E2'
packets fail_send=9;3 ./bulk
packets fail_send=1,inject=0,reorder;3 ./bulk
packets fail_inject=2;3 ./bulk
packets fail_recv=3,no_multi_recv;3 ./bulk
packets fail_recv=1;3 ./bulk
lost fail_send=9,inject=0;2 ./lost
lost fail_send=9,inject=0,reorder,eagain=2;3 ./lost
lost fail_send=9,inject=0;2 ./lost probes
lost fail_send=16,inject=0,reorder,eagain=2;3 ./lost probes
refused fail_read=3,tx=1;3 ./bulk
refused fail_read=4,mr_local,reorder,eagain=3;3 ./bulk
refused reg_fail=2,mr_local;3 ./bulk
refused reg_max=0,mr_local;2 ./bulk
refused max_msg=1K;2 ./bulk
refused deny_recv=2;2 ./bulk
E2

# judge PATTERN...: the next lines have failed, but not by the time limit, each with its message
line=0
judge() {
    for pattern; do
        line=$((line + 1))
        [ "$(code_of $line)" -ne 0 ] && [ "$(code_of $line)" -ne 124 ] || fail "exit code $(code_of $line) of $(of $line)"
        expect_text $line.text "$pattern"
    done
}
judge_packets() {
    send='rank [0-2] on h[12] cannot be reached by rank [0-2] on h[12] any more: sending to it failed: Input/output error'
    inject='rank [0-2] on h[12] cannot be reached by rank [0-2] on h[12] any more: a packet injected to it, or to another rank, was lost: Input/output error (provider weft_strict'
    recv='rank [0-2] on h[12] cannot be reached from other hosts any more: receiving failed: Input/output error'
    judge "$send" "$send" "$inject" "$recv" "$recv"
}
judge_lost() {
    for number in 1 2 3 4; do
        judge 'rank 1 on h2 cannot be reached by rank 0 on h1 any more: sending to it failed: Input/output error'
        [ "$(code_of $line)" -eq 42 ] || fail "exit code $(code_of $line) of $(of $line)"
    done
}
judge_refused() {
    for number in 1 2 3; do
        line=$((line + 1))
        [ "$(code_of $line)" -eq 0 ] && [ ! -s $line.text ] || fail "exit code $(code_of $line) of $(of $line)"
    done
    judge 'fi_mr_reg: Cannot allocate memory' 'its messages have 1024 bytes at most, Weft needs 2048' 'fi_recvmsg: Input/output error'
}
for case in $cases; do
    judge_$case
done
finish
