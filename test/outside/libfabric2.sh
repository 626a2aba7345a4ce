#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Over libfabric 2.x, which the Python package impi-rt contains: its provider tcp, and that of
# test/fake/fabric over it, on two hosts.
. "$(dirname "$0")/wheels.sh"
need_plain_build
intel=$cache/weft-peers/intel
fetch "$intel" lib/libfabric.so.1 impi-rt
rmdir "$work" 2>/dev/null || rm -rf "$work"
. "$(dirname "$0")/../nodes/setup_strict.sh"
sources='mpi/pt2pt/stress.c mpi/pt2pt/matching.c mpi/coll/coll_stress.c mpi/coll/moves.c nodes/bulk.c'

# libfabric gets a folder of its own, since its original one holds another MPI library with the name
# of Weft's.
mkdir library
cp "$intel/lib/libfabric.so.1" library
cp "$intel/lib/libtcp-fi.so" .
LD_LIBRARY_PATH=$work/library
export LD_LIBRARY_PATH

# all_pass: every line has succeeded
all_pass() {
    for line in $(seq 1 "$(wc -l <lines)"); do
        [ "$(code_of $line)" -eq 0 ] || fail "exit code $(code_of $line) of $(of $line)"
    done
}

WEFT_FABRIC=tcp
on_strict 2 <<'E2'
;3 env WEFT_LOG=info ./bulk 1
;6 ./bulk 3
;3 ./stress 21 30
;3 ./coll_stress 22
;4 ./moves
;3 ./matching
E2
all_pass
expect_text 1.text 'libfabric 2[.][0-9]*, provider tcp,'

WEFT_FABRIC=weft_strict
on_strict 2 <<'E2'
over=tcp,mr_local,prov_key,virt_addr,mr_endpoint,context2,reorder;4 ./bulk
over=tcp,no_rma,no_multi_recv,inject=0,rx=2,tx=4,no_wait,reorder;3 ./stress 23 20
over=tcp,context,eagain=3,rx=1,tx=1,max_msg=8K;3 ./bulk 3
over=tcp,mr_local,reg_fail=3,eagain=5,max_msg=16K,inject=48;3 ./coll_stress 24
E2
all_pass
finish
