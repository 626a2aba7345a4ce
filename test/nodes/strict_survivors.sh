#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of operation of the provider fails once, on 2 to 5 ranks: under MPI_ERRORS_RETURN a
# call returns an error if Weft cannot recover from the loss, and one line names the rank and its
# host.
. "$(dirname "$0")/setup_strict.sh"
compile nodes/survivor.c

on_strict 3 <<'E2'
fail_send=5,inject=0;2 ./survivor
fail_send=3;5 ./survivor
deny_send=9,inject=0;3 ./survivor any
deny_send=2;4 ./survivor
fail_inject=3;2 ./survivor
fail_inject=9;5 ./survivor any
deny_inject=8;3 ./survivor
fail_recv=1;2 ./survivor
fail_recv=9,no_multi_recv;5 ./survivor
deny_recv=35,no_multi_recv;4 ./survivor any
deny_recv=40,no_multi_recv;3 ./survivor
fail_cq=9;2 ./survivor
fail_cq=30;5 ./survivor
fail_send=9,inject=0,reorder,eagain=3;4 ./survivor any
deny_av=1;2 ./survivor
deny_av=2;5 ./survivor
fail_read=1;2 ./survivor
fail_read=2;5 ./survivor any
deny_read=2;3 ./survivor
deny_read=3,mr_local,reorder;4 ./survivor
deny_reg=2,mr_local;2 ./survivor
deny_reg=3,mr_local,prov_key,virt_addr;5 ./survivor
reg_fail=4,mr_local;3 ./survivor
E2
# The first 16 lines end in errors; Weft recovers from the failures of the others.
told=16
for line in $(seq 1 $(wc -l <lines)); do
    expected=$([ $line -le $told ] && echo 42 || echo 0)
    [ "$(code_of $line)" -eq $expected ] || fail "exit code $(code_of $line), expected $expected, of $(of $line)"
    if [ $expected -eq 0 ]; then
        [ ! -s $line.text ] || fail "something is printed: $(of $line)"
    else
        expect_text $line.text 'rank [0-4] on h[1-3].* \(cannot be reached\|fi_av_insert\)'
    fi
done
finish
