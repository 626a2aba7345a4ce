#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs on several hosts that no launcher starts: the ranks of a host share memory and no others do; their ends.
. "$(dirname "$0")/setup_hosts.sh"
: "${MPICC:=$BUILD/tools/mpicc}"
for program in ranks_alone:launch/ranks_alone reductions:mpi/coll/reductions bootstrap:mpi/start/bootstrap; do
    "$MPICC" -std=gnu11 -O1 -Wall -Wextra -I"$SOURCE/test/mpi" -o "${program%%:*}" "$SOURCE/test/${program#*:}.c" -lm || exit 1
done

# scatter HOSTS COMMAND...: rank r on host r modulo HOSTS, counted from h1; prints how each has ended
cat >scatter <<'EOT'
hosts=$1 size=$2
shift 2
rank=0
while [ $rank -lt $size ]; do
    agent h$((rank % hosts + 1)) "cd $PWD; RANK=$rank WORLD_SIZE=$size $meeting timeout -k 5 60 $*; echo rank $rank: \$?" &
    rank=$((rank + 1))
done
wait
EOT

# all CODE SIZE: each rank has ended with CODE
all() {
    [ "$(lines "^rank [0-9]*: $1\$")" -eq "$2" ] || fail "not all of $2 ranks ended with $1: $(cat out err | head -c 900)"
}

export meeting='MASTER_ADDR=10.77.0.11 MASTER_PORT=29500'
for size in 2 3 7; do
    expect_on 0 --hosts 3 -- sh -c "cd '$work'; exec sh ./scatter 3 $size ./reductions"
    all 0 $size
done
export meeting="WEFT_BOOTSTRAP=file:$work/meeting"
expect_on 0 --hosts 3 -- sh -c "cd '$work'; exec sh ./scatter 3 5 ./reductions"
all 0 5
export meeting='MASTER_ADDR=10.77.0.11 MASTER_PORT=29500 WEFT_REPORT=1'
expect_on 0 --hosts 2 -- sh -c "cd '$work'; exec sh ./scatter 2 5 ./ranks_alone"
all 0 5
expect_text err 'weft: 5 ranks on 2 hosts'
export meeting='MASTER_ADDR=10.77.0.11 MASTER_PORT=29500'
expect_on 0 --hosts 2 -- sh -c "cd '$work'; exec sh ./scatter 2 5 ./ranks_alone abort 3"
all 7 5
expect_on 0 --hosts 2 -- sh -c "cd '$work'; exec sh ./scatter 2 5 ./ranks_alone kill 3"
all 1 4
expect_on 0 --hosts 2 -- sh -c "cd '$work'; exec sh ./scatter 2 5 ./ranks_alone kill 0"
all 1 4

# Ranks that share a network and no memory, as containers do: their program says so.
expect_on 0 --hosts 1 -- sh -c "cd '$work'; WEFT_INITIAL_ERRHANDLER=mpi_errors_return exec timeout 60 $MPIRUN -n 5 ./bootstrap hosts"
[ ! -s out ] && [ ! -s err ] || fail "one network: $(cat out err | head -c 600)"
finish
