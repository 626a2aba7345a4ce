#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Several interfaces in one network: each rank takes its share of them, those beside the GPU that it
# will probably use, or those that the ranks before it leave; and all data arrive.
. "$(dirname "$0")/setup_strict.sh"
grep -q '^#define HAVE_HWLOC' "$BUILD/config.h" || {
    echo "this build has no hwloc"
    exit 77
}
cp "$SOURCE/test/nodes/two_gpus.xml" "$work"
sources=nodes/bulk.c
machine="-x WEFT_LOG=debug -x HWLOC_XMLFILE=$work/two_gpus.xml"

# Two ranks on each of two hosts.
on_strict 2 <<E2
nics=4;4 $machine ./bulk 2
nics=4,reorder,mr_local,virt_addr,context2;4 $machine -x CUDA_VISIBLE_DEVICES=1 ./bulk 2
nics=8;4 $machine -x WEFT_DEVICE=no ./bulk 2
nics=4;4 $machine -x WEFT_RAILS=1 ./bulk 2
nics=3;2 $machine -x WEFT_DEVICE=no ./bulk 2
E2

# rails LINE RANK INTERFACE...: the rails of a rank, in their order
rails() {
    line=$1 rank=$2
    shift 2
    found=$(sed -n "s/.*rail [0-9] of rank $rank is interface \\([^,]*\\),.*/\\1/p" $line.text | tr '\n' ' ')
    [ "$found" = "$* " ] || fail "rank $rank has the rails $found, expected $*: $(of $line)"
}

for line in $(seq 1 $(wc -l <lines)); do
    [ "$(code_of $line)" -eq 0 ] || fail "exit code $(code_of $line) of $(of $line)"
done
# Ranks 0 and 1 are the first of their hosts, and 2 and 3 the second.
rails 1 0 strict0 strict1
rails 1 1 strict0 strict1
rails 1 2 strict3 strict2
rails 1 3 strict3 strict2
rails 2 0 strict2 strict3
rails 2 3 strict3 strict2
rails 3 0 strict0 strict1 strict2 strict3
rails 3 2 strict4 strict5 strict6 strict7
rails 4 1 strict0
rails 4 3 strict3
rails 5 0 strict0 strict1 strict2
finish
