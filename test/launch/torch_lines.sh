#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Command lines of torchrun under mpirun: options, variables, Python programs, and nodes that have an mpirun each.
. "$(dirname "$0")/setup.sh"
unset MASTER_ADDR MASTER_PORT OMP_NUM_THREADS TORCHELASTIC_RUN_ID RANK WORLD_SIZE CUDA_VISIBLE_DEVICES
cat >show.py <<'EOF'
import os, sys
names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME"
print(*[os.environ.get(n, "-") for n in f"{names} OMP_NUM_THREADS TORCHELASTIC_RESTART_COUNT".split()], *sys.argv[1:])
EOF
cat >meet.py <<'EOF'
import os
print(os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], os.environ["TORCHELASTIC_RUN_ID"])
EOF

# shows RANKS TEXT WORD...: each rank prints its numbers and TEXT
shows() {
    size=$1 text=$2
    shift 2
    expect 0 "$MPIRUN" "$@"
    [ "$(wc -l <out)" -eq "$size" ] || fail "not $size ranks: $*: $(cat out err)"
    for rank in $(seq 0 $((size - 1))); do
        expect_text out "^$rank $size $rank $size 0 1 $rank $size $text\$"
    done
}
for option in --nproc-per-node=2 --nproc_per_node=2 '--nproc-per-node 2'; do
    shows 2 'default 1 0 --x a' --standalone $option show.py --x a
done
shows 1 'default - 0' --standalone show.py
shows 1 'default - 0' --nnodes=1 show.py
shows 3 'default 7 0' --nproc-per-node 3 -x OMP_NUM_THREADS=7 --nnodes 1 --rdzv-backend c10d --rdzv-endpoint localhost:0 \
    --max-restarts 0 show.py
shows 2 'trainer 1 0' --nproc-per-node 2 --role trainer --node-rank 0 show.py
shows 2 'default - 0' -n 2 show.py
shows 2 'default - 0 word' -n 2 -m show word
shows "$(nproc)" 'default [-1] 0' --nproc-per-node cpu show.py
expect 0 env CUDA_VISIBLE_DEVICES=4,5,6 "$MPIRUN" --nproc-per-node gpu show.py
[ "$(wc -l <out)" -eq 3 ] || fail "not a rank for each GPU: $(cat out)"
shows 2 'default 1 0 word' --standalone --nproc-per-node 2 --rdzv-conf timeout=9 --monitor-interval 1 --start-method=spawn --log-dir logs \
    -r 3 -t 3 --local-ranks-filter 0 --local-addr localhost --log-line-prefix-template x --logs-specs default --numa-binding node \
    --event-log-handler null --signals-to-handle SIGTERM --shutdown-timeout 5 --duplicate-stdout-filters a \
    --duplicate-stderr-filters a show.py word
expect_text err 'note: .*--start-method.*no effect'
cp show.py show.script
shows 2 'default 1 0 word' --standalone --nproc-per-node 2 --run-path show.script word
printf '#!/bin/sh\necho shell\n' >own.py
chmod +x own.py
expect 0 "$MPIRUN" -n 1 ./own.py
expect_output shell
expect 0 "$MPIRUN" --standalone --no-python ./own.py
expect_output shell
expect 127 env PATH=/nonexistent "$MPIRUN" -n 1 show.py

# Where ranks meet: alike for all, and the user's if there is one
expect 0 "$MPIRUN" -n 3 python3 meet.py
[ "$(sort -u out | wc -l)" -eq 1 ] || fail "ranks differ: $(cat out)"
expect_text out '^127.0.0.1 [1-9][0-9]* weft-'
expect 0 env MASTER_ADDR=here MASTER_PORT=7 "$MPIRUN" -n 1 python3 meet.py
expect_text out '^here 7 weft-'
expect 0 env MASTER_ADDR=here MASTER_PORT=7 "$MPIRUN" --master-addr there --master_port 8 --rdzv-id run meet.py
expect_output 'there 8 run'
expect 0 "$MPIRUN" --rdzv-endpoint '[fd00::1]:9' meet.py
expect_text out '^fd00::1 9 '
expect 0 "$MPIRUN" --rdzv-endpoint there meet.py
expect_text out '^there 29400 '

# An mpirun that a rank starts has a job of its own.
expect 0 "$MPIRUN" -n 2 "$MPIRUN" -n 2 python3 meet.py
[ "$(sort -u out | wc -l)" -eq 2 ] || fail "nested: $(cat out)"

# Two nodes, each with an mpirun: ranks of MPI and the variables
"$MPICC" -O1 -Wall -Wextra -o ranks_alone "$SOURCE/test/launch/ranks_alone.c" || exit 1
port=$(free_port)
# nodes WORD...: what each prints goes to out.NODE, its exit code to code.NODE
nodes() {
    for node in 0 1; do
        (
            timeout 60 "$MPIRUN" --nnodes 2 --node-rank $node --rdzv-endpoint localhost:$port "$@" >out.$node 2>err.$node
            echo $? >code.$node
        ) &
    done
    wait
}
nodes --nproc-per-node 2 show.py
[ "$(cat out.0 out.1 | sort)" = '0 4 0 2 0 2 0 4 default 1 0
1 4 1 2 0 2 1 4 default 1 0
2 4 0 2 1 2 2 4 default 1 0
3 4 1 2 1 2 3 4 default 1 0' ] || fail "two nodes: $(cat out.? err.?)"
nodes --nproc-per-node 2 ./ranks_alone run 'echo $RANK'
[ "$(cat out.0 out.1 | sort | tr '\n' ' ')" = '0 1 2 3 ' ] || fail "MPI on two nodes: $(cat out.? err.?)"
nodes --nproc-per-node 2 ./ranks_alone abort 3
[ "$(cat code.0 code.1 | tr '\n' ' ')" = '7 7 ' ] || fail "MPI_Abort on two nodes: $(cat code.? err.?)"

# Ranks have the numbers of MPI_COMM_WORLD in tags, names of files, messages and the manifest as well.
nodes --nproc-per-node 2 -l --no-python echo here
[ "$(cat out.0 out.1 | sort | tr '\n' ' ')" = '[0] here [1] here [2] here [3] here ' ] || fail "tags: $(cat out.? err.?)"
nodes --nproc-per-node 2 --outfile-pattern file.%r --no-python echo here
[ "$(echo file.*)" = 'file.0 file.1 file.2 file.3' ] || fail "files of two nodes: $(echo file.*; cat err.?)"
nodes --nproc-per-node 2 --no-python sh -c '[ $RANK != 3 ] || exit 5'
grep -q '^mpirun: rank 3 (.* exited with code 5; ending the job$' err.1 || fail "the rank that failed: $(cat err.?)"
nodes --nproc-per-node 2 --enable-recovery --no-python sh -c '[ $RANK != 3 ] || exit 5'
grep -q '^mpirun: 1 of 2 ranks was lost: 3$' err.1 || fail "the lost rank: $(cat err.?)"

# What cannot be done is said.
nodes --nproc-per-node 1 --max-restarts 2 --no-python true
grep -q 'note: --max-restarts has no effect with --node-rank' err.0 && grep -q 'no effect' err.1 ||
    fail "--max-restarts of two nodes: $(cat err.?)"

expect 2 env -u SLURM_JOB_ID "$MPIRUN" --nnodes 2 show.py
expect_text err 'nnodes 2 wants the hosts'
expect 2 "$MPIRUN" --nnodes=1:3 show.py
expect_text err 'mpirun: --nnodes 1:3: the number of nodes cannot change'
expect 2 "$MPIRUN" --nnodes 2 --node-rank 2 --rdzv-endpoint a:1 show.py
expect_text err 'expected is 0 to 1'
expect 2 "$MPIRUN" --nnodes 2 --node-rank 1 show.py
expect_text err 'wants --rdzv-endpoint HOST:PORT'
expect 2 "$MPIRUN" --nnodes 2 --node-rank 1 --rdzv-endpoint a:1 -host a,b show.py
expect_text err 'hosts cannot be named'
for port in abc 99999 -1 ''; do
    expect 2 "$MPIRUN" --nnodes 2 --node-rank 1 --rdzv-endpoint a:$port show.py
    expect_text err "rdzv-endpoint a:$port: the port is \"$port\"; expected is 0 to 65535"
done
expect 2 "$MPIRUN" --nproc-per-node many show.py
expect_text err 'wants a whole number, gpu, cpu or auto, not "many"'
expect 0 "$MPIRUN" --max-restarts 3 --standalone show.py
[ ! -s err ] || fail "printed on stderr: $(cat err)"
finish
