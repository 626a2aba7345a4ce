#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Operations of the provider that fail: after a lost packet the job ends and names the rank and the
# failure; Weft replaces a read or a registration that is refused; an unsuitable provider is named
# with the reason.
. "$(dirname "$0")/setup_strict.sh"
compile nodes/bulk.c nodes/lost.c
start_ranks=$by_mpirun

on_strict 2 <<'E2'
fail_send=9;3 ./bulk
fail_send=1,inject=0,reorder;3 ./bulk
fail_inject=2;3 ./bulk
fail_recv=3,no_multi_recv;3 ./bulk
fail_recv=1;3 ./bulk
fail_read=3,tx=1;3 ./bulk
fail_read=4,mr_local,reorder,eagain=3;3 ./bulk
reg_fail=2,mr_local;3 ./bulk
reg_max=0,mr_local;2 ./bulk
max_msg=1K;2 ./bulk
fail_send=9,inject=0;2 ./lost
fail_send=9,inject=0,reorder,eagain=2;3 ./lost
fail_send=9,inject=0;2 ./lost probes
fail_send=16,inject=0,reorder,eagain=2;3 ./lost probes
deny_recv=2;2 ./bulk
E2

# ended LINE PATTERN: the line has failed, but not by the time limit, with this message
ended() {
    [ "$(code_of $1)" -ne 0 ] && [ "$(code_of $1)" -ne 124 ] || fail "exit code $(code_of $1) of $(of $1)"
    expect_text $1.text "$2"
}
ended 1 'rank [0-2] on h[12] cannot be reached by rank [0-2] on h[12] any more: sending to it failed: Input/output error'
ended 2 'rank [0-2] on h[12] cannot be reached by rank [0-2] on h[12] any more: sending to it failed: Input/output error'
ended 3 'rank [0-2] on h[12] cannot be reached by rank [0-2] on h[12] any more: a packet injected to it, or to another rank, was lost: Input/output error (provider weft_strict'
ended 4 'rank [0-2] on h[12] cannot be reached from other hosts any more: receiving failed: Input/output error'
ended 5 'rank [0-2] on h[12] cannot be reached from other hosts any more: receiving failed: Input/output error'
for line in 6 7 8; do
    [ "$(code_of $line)" -eq 0 ] && [ ! -s $line.text ] || fail "exit code $(code_of $line) of $(of $line)"
done
ended 9 'fi_mr_reg: Cannot allocate memory'
ended 10 'its messages have 1024 bytes at most, Weft needs 2048'
for line in 11 12 13 14; do
    [ "$(code_of $line)" -eq 42 ] || fail "exit code $(code_of $line) of $(of $line)"
    expect_text $line.text 'rank 1 on h2 cannot be reached by rank 0 on h1 any more: sending to it failed: Input/output error'
done
ended 15 'fi_recvmsg: Input/output error'
finish
