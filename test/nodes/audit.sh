#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The report of a run on three hosts, each with a setting that costs speed: the results are right,
# and each setting gets a warning.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -o "$work/sums" "$SOURCE/test/nodes/sums.c" || fail "sums.c cannot be compiled"

# warned TEXT: exactly one warning contains it
warned() {
    [ "$(grep -c "warning: .*$1" err)" -eq 1 ] || fail "not one warning about $1: $(cat err)"
}

expect_on 0 --hosts 3 --slots 2 --slurm --decoy-bridge --no-cma h1 --shm 64M@h2 -- \
    env WEFT_REPORT=1 timeout 40 srun --mpi=pmix --export=ALL -N 3 -n 6 "$work/sums"
[ "$(grep -c '^rank [0-5]: right$' out)" -eq 6 ] || fail "not all ranks have the right sums: $(cat out err)"
grep -q '^weft: 6 ranks on 3 hosts' err || fail "no report: $(cat err)"
for host in h1 h2 h3; do
    grep -q "^  $host  .*weft-tcp at eth0" err || fail "no line for $host: $(cat err)"
done
warned 'h1, h2, h3: interface docker0 (172.17.0.1) is passed over'
warned 'h1: ranks may not read each other.s memory'
warned 'h2: /dev/shm has only 64 MB'
finish
