#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over the strict provider of test/fake/fabric: what EFA, verbs and others demand and refuse, in
# several combinations. Programs that check all data they receive pass and print nothing.
. "$(dirname "$0")/setup_strict.sh"
compile mpi/pt2pt/stress.c mpi/pt2pt/matching.c mpi/pt2pt/flood.c mpi/pt2pt/partitioned.c mpi/pt2pt/cancelled.c \
    mpi/coll/coll_stress.c mpi/coll/moves.c nodes/bulk.c

on_strict 3 <<'E2'
mr_local,prov_key,virt_addr,mr_allocated,context2,reorder,iov=1;5 ./stress 11 12
mr_local,prov_key,virt_addr,mr_allocated,context2,reorder,iov=1;4 ./bulk
mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./stress 12 8
mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./moves
mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./bulk 2
no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./coll_stress 13 15
no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./matching
context2,no_rma,eagain=3,rx=1,tx=1,max_msg=8K;3 ./stress 14 12
context2,no_rma,eagain=3,rx=1,tx=1,max_msg=8K;2 ./flood
mr_local,reg_max=2,virt_addr,reorder,seed=2;4 ./bulk
mr_local,reg_max=2,virt_addr,reorder,late_inject,seed=8;4 ./bulk
reorder,late_inject,seed=5;5 ./matching
mr_local,reg_max=2,virt_addr,reorder,seed=2;3 ./coll_stress 15 15
mr_local,prov_key,reg_fail=3,eagain=5,max_msg=16K,inject=48;4 ./bulk
virt_addr,context,reorder,eagain=4,max_msg=3K,seed=3;3 ./stress 16 12
virt_addr,context,reorder,eagain=4,max_msg=3K,seed=3;3 ./matching
mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./partitioned
reorder,late_inject,seed=9;3 ./partitioned threads
reorder,late_inject,seed=9;3 ./cancelled 5 10
no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./cancelled 6 10
reorder,eagain=2,tx=2,inject=40,tell;3 ./bulk 3
E2
lines=$(wc -l <lines)
for line in $(seq 1 $((lines - 1))); do
    [ "$(code_of $line)" -eq 0 ] && [ ! -s $line.text ] || fail "exit code $(code_of $line) of $(of $line)"
done

# The provider did reorder and refuse: every rank prints how often.
[ "$(code_of $lines)" -eq 0 ] || fail "exit code $(code_of $lines) of $(of $lines)"
[ "$(grep -c -E '[1-9][0-9]* overtaken, [1-9][0-9]* refused' $lines.text)" -eq 3 ] ||
    fail "nothing was overtaken or refused: $(of $lines)"
finish
