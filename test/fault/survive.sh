#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that die while all are in operations of one kind, with WEFT_RECOVERY=yes: the others see the errors that ULFM
# names, revoke, shrink and go on. survive.c has the operations. Started without a launcher, as any would start them.
. "$(dirname "$0")/judge.sh"
. "$SOURCE/test/fault/start_ranks.sh"
compile fault/survive.c fault/lost.c
operations='barrier allreduce allreduce_large bcast alltoall gather_scatter scan reduce_scatter iallreduce persistent ring
    ring_large ring_sync sendrecv any_source neighbors inter merge inter_create from_group from_groups dup partitioned
    agree iagree shrink'
LD_LIBRARY_PATH=$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
WEFT_RECOVERY=yes
export LD_LIBRARY_PATH WEFT_RECOVERY

# survive RANKS VICTIMS OPERATION SEED
survive() {
    start $1 ./survive $3 $2 $4
    [ "$(ended 137)" -eq $2 ] && [ "$(ended 0)" -eq $(($1 - $2)) ] && [ ! -s out ] ||
        fail "$3 on $1 ranks, $2 die, seed $4, hosts ${WEFT_SIMULATE_HOSTS:-1}: codes $(tr '\n' ' ' <codes): $(head -c 600 out)"
}

seed=1
for operation in $operations; do
    survive 3 1 $operation $seed
    survive 5 2 $operation $((seed + 1))
    WEFT_SIMULATE_HOSTS=0,0,1 survive 3 1 $operation $((seed + 2))
    WEFT_SIMULATE_HOSTS=0,1,2,0,1,2,1,1 survive 8 4 $operation $((seed + 3))
    seed=$((seed + 4))
done

# lost RANKS DEAD CODE HOW TEXT: ranks that die end with 137, the others with CODE, and one of them prints TEXT
lost() {
    start $1 ./lost $4
    [ "$(ended 137)" -eq $2 ] && [ "$(ended $3)" -eq $(($1 - $2)) ] ||
        fail "lost $4 on $1 ranks: codes $(tr '\n' ' ' <codes): $(head -c 600 out)"
    [ -z "$5" ] || expect_text out "$5"
}
for hosts in '' 0,1,0,1,1; do
    [ -z "$hosts" ] || export WEFT_SIMULATE_HOSTS=$hosts
    lost 5 1 0 finalize ''
    lost 5 2 0 classes ''
    lost 5 1 0 world ''
    lost 5 1 0 wild ''
    lost 5 1 0 unseen ''
    lost 5 1 1 fatal 'rank 3 '
done
