#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over the strict provider of test/fake/fabric: what EFA, verbs and others demand and refuse, in
# several combinations. Programs that check all data they receive pass and print nothing.
# Cases: stress matching bulk collectives others
. "$(dirname "$0")/setup_strict.sh"
sources='mpi/pt2pt/stress.c mpi/pt2pt/matching.c mpi/pt2pt/flood.c mpi/pt2pt/partitioned.c mpi/pt2pt/cancelled.c
    mpi/coll/coll_stress.c mpi/coll/moves.c nodes/bulk.c'

on_strict 3 <<'E2'
stress mr_local,prov_key,virt_addr,mr_allocated,context2,reorder,iov=1;5 ./stress 11 12
stress mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./stress 12 8
stress context2,no_rma,eagain=3,rx=1,tx=1,max_msg=8K;3 ./stress 14 12
stress virt_addr,context,reorder,eagain=4,max_msg=3K,seed=3;3 ./stress 16 12
matching no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./matching
matching context2,no_rma,eagain=3,rx=1,tx=1,max_msg=8K;2 ./flood
matching reorder,late_inject,seed=5;5 ./matching
matching virt_addr,context,reorder,eagain=4,max_msg=3K,seed=3;3 ./matching
bulk mr_local,prov_key,virt_addr,mr_allocated,context2,reorder,iov=1;4 ./bulk
bulk mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./bulk 2
bulk mr_local,reg_max=2,virt_addr,reorder,seed=2;4 ./bulk
bulk mr_local,reg_max=2,virt_addr,reorder,late_inject,seed=8;4 ./bulk
bulk mr_local,prov_key,reg_fail=3,eagain=5,max_msg=16K,inject=48;4 ./bulk
bulk reorder,eagain=2,tx=2,inject=40,tell;3 ./bulk 3
collectives mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./moves
collectives no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./coll_stress 13 15
collectives mr_local,reg_max=2,virt_addr,reorder,seed=2;3 ./coll_stress 15 15
others mr_local,prov_key,mr_endpoint,context,eagain=2,inject=0,max_msg=2K,no_multi_recv,rx=8;3 ./partitioned
others reorder,late_inject,seed=9;3 ./partitioned threads
others reorder,late_inject,seed=9;3 ./cancelled 5 10
others no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./cancelled 6 10
E2
for line in $(seq 1 $(wc -l <lines)); do
    [ "$(code_of $line)" -eq 0 ] || fail "exit code $(code_of $line) of $(of $line)"
    if sed -n ${line}p lines | grep -q tell; then # the provider did reorder and refuse: every rank prints how often
        [ "$(grep -c -E '[1-9][0-9]* overtaken, [1-9][0-9]* refused' $line.text)" -eq 3 ] || fail "nothing was overtaken or refused: $(of $line)"
    else
        [ ! -s $line.text ] || fail "something is printed: $(of $line)"
    fi
done
finish
