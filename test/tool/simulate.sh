#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# weft_info --simulate, --explain and --algorithms: their output, and their errors about wrong
# arguments.
info=$BUILD/weft_info
failures=0

# fails_with CODE WORD words...: the exit code, and a word of the one line on stderr.
fails_with() {
    code=$1 word=$2
    shift 2
    words=$("$info" "$@" 2>&1 >/dev/null)
    got=$?
    case $got,$words in
    $code,*"$word"*) ;;
    *)
        echo "weft_info $*: exit code $got, not $code; '$word' is not in: $words"
        failures=$((failures + 1))
        ;;
    esac
}

# prints PATTERN words...: exit code 0, and a line that matches.
prints() {
    pattern=$1
    shift
    words=$("$info" "$@" 2>&1) || { echo "weft_info $*: exit code $?: $words"; failures=$((failures + 1)); }
    if ! echo "$words" | grep -Eq -e "$pattern"; then
        echo "weft_info $*: no line has '$pattern': $words"
        failures=$((failures + 1))
    fi
}

for coll in barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw \
    reduce allreduce reduce_scatter reduce_scatter_block scan exscan; do
    prints ' proved$' --simulate $coll --nodes 6 --ppn 3 --bytes 8 --fabric efa
    words=$("$info" --simulate $coll --nodes 5 --ppn 3 --bytes 100 --algorithm all --placement random)
    if echo "$words" | grep -v '^#' | grep -v '^ *nodes' | grep -qv ' proved$'; then
        echo "not all is proved: $words"
        failures=$((failures + 1))
    fi
done
prints '^ *16 +4 .* proved$' --simulate allreduce --nodes 4,16 --ppn 4 --bytes 8,64K --placement cyclic
prints 'too large to prove$' --simulate allgather --nodes 64 --ppn 4 --bytes 64K --memory 64M
prints 'only counted' --simulate alltoall --nodes 4096 --ppn 64 --bytes 8 --algorithm batched
prints 'sliced,radix=3,segment=4096 ' --simulate allreduce --bytes 64K --algorithm sliced,radix=3,segment=4K
prints 'far %' --simulate bcast --nodes 64 --islands 8 --algorithm two_level_bine
prints 'several nodes: .*' --explain allreduce 64 8 16 efa
prints 'line [0-9]+ of the built-in' --explain bcast 16 64K
prints 'one host, each on a device: +ll: line [0-9]+' --explain allreduce 8 64K device
prints 'one host, multicast on devices: +multicast: line [0-9]+' --explain allreduce 8 64M device
prints 'one host, multicast on devices: +ll: line [0-9]+' --explain allreduce 8 64K device
# what one rank contributes counts, whether the buffers are two or one
prints 'one host, multicast on devices: +multicast: line [0-9]+' --explain allreduce 8 2M device
prints 'one host, multicast on devices: +direct: line [0-9]+' --explain allreduce 8 1M device
prints 'one host, multicast on devices: +ll: line [0-9]+' --explain allreduce 8 1023K device
prints "an operation of the user's: +staged: line [0-9]+" --explain bcast 8 20K device
for coll in bcast allgather allgatherv reduce reduce_scatter reduce_scatter_block; do
    prints 'one host, multicast on devices: +multicast: line [0-9]+' --explain $coll 8 4M device
done
prints 'one host, multicast on devices: +direct: line [0-9]+' --explain alltoall 8 64M device
prints 'one host, each on a device: +direct: line [0-9]+' --explain scan 8 64K device
prints 'several hosts: +hierarchical: line [0-9]+' --explain allreduce 8 64K device
prints 'else, or some on host memory: +p2p: line [0-9]+' --explain allreduce 8 64K device
prints "an operation of the user's: +staged: line [0-9]+" --explain allreduce 8 64K device
prints 'nodes N' --simulate --help
prints '^reduce_scatter +ring +- +commutative +p - 1 rounds' --algorithms
prints '^bcast +chain +segment +- ' --algorithms bcast

fails_with 2 allreduce --simulate alreduce
fails_with 2 'nearest is --nodes' --simulate allreduce --node 3
fails_with 2 'needs a value' --simulate allreduce --nodes
fails_with 2 '--nodes is 3x' --simulate allreduce --nodes 3x
fails_with 2 '--nodes is 1,' --simulate allreduce --nodes 1,
fails_with 2 'expected are 1 to' --simulate allreduce --nodes 0
fails_with 2 'root 9' --simulate bcast --nodes 4 --root 9
fails_with 2 'nearest is efa' --simulate bcast --fabric efaa
fails_with 2 'none of bcast' --simulate bcast --algorithm ring
fails_with 2 'blocks, cyclic or random' --simulate bcast --placement boxes
fails_with 2 'does not do' --simulate allgather --nodes 4 --ppn 4 --placement random --algorithm lanes
fails_with 2 'RANKS BYTES' --explain allreduce
fails_with 2 'multiple of NODES' --explain allreduce 7 8 2
fails_with 2 'RANKS is no' --explain allreduce no 8
exit $((failures > 0))
