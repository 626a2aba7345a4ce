#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of operation of the provider fails once, on 2 to 5 ranks: under MPI_ERRORS_RETURN a
# call returns an error if Weft cannot recover from the loss, and one line names the rank and its
# host.
# Cases: sends receives reads
. "$(dirname "$0")/setup_strict.sh"
sources=nodes/survivor.c

on_strict 3 <<'E2'
sends fail_send=5,inject=0;2 ./survivor
sends fail_send=3;5 ./survivor
sends deny_send=9,inject=0;3 ./survivor any
sends deny_send=2;4 ./survivor
sends fail_inject=3;2 ./survivor
sends fail_inject=9;5 ./survivor any
sends deny_inject=8;3 ./survivor
sends fail_send=9,inject=0,reorder,eagain=3;4 ./survivor any
receives fail_recv=1;2 ./survivor
receives fail_recv=9,no_multi_recv;5 ./survivor
receives deny_recv=35,no_multi_recv;4 ./survivor any
receives deny_recv=40,no_multi_recv;3 ./survivor
receives fail_cq=9;2 ./survivor
receives fail_cq=30;5 ./survivor
receives deny_av=1;2 ./survivor
receives deny_av=2;5 ./survivor
reads fail_read=1;2 ./survivor
reads fail_read=2;5 ./survivor any
reads deny_read=2;3 ./survivor
reads deny_read=3,mr_local,reorder;4 ./survivor
reads deny_reg=2,mr_local;2 ./survivor
reads deny_reg=3,mr_local,prov_key,virt_addr;5 ./survivor
reads reg_fail=4,mr_local;3 ./survivor
E2
# Weft recovers from reads and registrations that fail.
for line in $(seq 1 $(wc -l <lines)); do
    if sed -n ${line}p lines | grep -q -e _read= -e reg; then
        [ "$(code_of $line)" -eq 0 ] && [ ! -s $line.text ] || fail "exit code $(code_of $line), expected 0 and no text, of $(of $line)"
    else
        [ "$(code_of $line)" -eq 42 ] || fail "exit code $(code_of $line), expected 42, of $(of $line)"
        expect_text $line.text 'rank [0-4] on h[1-3].* \(cannot be reached\|fi_av_insert\)'
    fi
done
finish
