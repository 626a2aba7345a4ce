#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# srun --mpi=pmix on hosts of test/cluster: ranks find each other through PMIx in every placement.
. "$(dirname "$0")/setup_hosts.sh"
build_pmi_rank

# ranks OPTION...: prints "rank local-rank/local-size" of each rank, in order
ranks() {
    expect_on 0 --hosts 3 --slots 4 --slurm -- timeout 30 srun --mpi=pmix "$@" "$work/pmi_rank" open board nodes say board close
    sed -n 's/^rank \([0-9]*\) of [0-9]*, local \([0-9]*\) of \([0-9]*\):.*/\1 \2\/\3/p' out | sort -n | tr '\n' ';'
}
[ "$(ranks -N 3 -n 6)" = '0 0/4;1 1/4;2 2/4;3 3/4;4 0/1;5 0/1;' ] || fail "4, 1 and 1 ranks: $(cat out)"
[ "$(ranks -N 2 -n 7)" = '0 0/4;1 1/4;2 2/4;3 3/4;4 0/3;5 1/3;6 2/3;' ] || fail "two of three hosts: $(cat out)"

expect_on 7 --slurm -- timeout 30 srun -Q --mpi=pmix -N 2 -n 3 "$work/pmi_rank" open abort=2,7 pause
expect_on 0 --hosts 3 --slurm -- "$SOURCE/test/cluster/uneven" -np 7 "$work/pmi_rank" open board close
for end in exit=3,3 kill=4; do
    on --hosts 3 --slurm -- "$SOURCE/test/cluster/uneven" -np 5 "$work/pmi_rank" open $end close
    [ $got -ne 0 ] || fail "a rank with $end, and uneven returns 0: $(cat err)"
done
finish
