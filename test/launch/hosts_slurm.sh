#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Inside a Slurm allocation mpirun lets srun start the ranks: places, environment, messages and exit codes are the same as without.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
build_pmi_rank

# Runs in the allocation, on the login host.
cat >allocated <<'EOF'
. "$SOURCE/test/launch/await.sh"
run="timeout 40 $1"
rank=$2
echo "== all"
$run sh -c 'echo $(hostname) $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $OMPI_COMM_WORLD_RANK $MASTER_ADDR'
echo "== some"
$run -n 3 -x A='b  c' -genvlist HOME,PATH sh -c 'echo "$(hostname) $A$FOO"'
echo "== programs"
FOO=2 $run -host h3,h1 -n 2 -wdir /usr sh -c 'echo $(hostname) $RANK $(pwd) $FOO' : -n 1 sh -c 'echo $(hostname) "$@"' x "it's" '*' -n
echo "== nodes"
$run --map-by node -n 7 $rank open say board close
echo "== tags"
$run -ppn 1 -l echo word
echo "== stdin"
echo word | $run -n 3 sh -c 'if [ $RANK = 0 ]; then cat; fi'
echo word | $run -n 3 --stdin 2 sh -c 'echo $RANK $(cat)'
echo "== files"
$run -n 6 --output-filename "$4/files" sh -c 'echo $RANK; echo error >&2'
echo "== own"
$run --launcher ssh --launch-agent agent -host h1,h2 -n 2 hostname
echo "== local"
$run -host localhost -n 1 hostname
echo "== restarts"
$run --max-restarts 1 -n 1 true 2>&1
echo "== codes"
code() {
    wanted=$1
    shift
    $run "$@" >said 2>&1 </dev/null
    got=$?
    [ $got -eq $wanted ] || echo "code $got, expected $wanted: $*: $(cat said)"
}
code 7 -n 3 $rank open board abort=1,7 pause
# Signals are sent when all ranks have met: Slurm 22.05 may lose a signal to a step that is still being launched, and wait for ever.
code 3 -n 6 $rank open board exit=4,3 pause
code 137 -n 6 $rank open board kill=5 pause
code 127 -n 2 no-such-program
code 126 -n 1 /etc/passwd
code 124 --timeout 1 -n 6 sleep 100
code 2 --launcher none -n 1 true
echo "== killed"
# A job of six ranks that have all begun
begin() {
    rm -f begun.*
    $mpirun -n 6 sh -c ': >begun.$RANK; exec sleep '$nap >said 2>&1 &
    job=$!
    await_files $job said $(seq -f begun.%g 0 5)
}
mpirun=$1 nap=$3
begin
kill -TERM $job
wait $job
echo "code $?"
begin
kill -KILL $job
wait $job 2>/dev/null
tries=0
while [ -n "$(squeue -h -s)" ] && [ $tries -lt 200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
squeue -h -s
echo "== end"
EOF
expect_on 0 --hosts 3 --slots 4,1,1 --slurm -- salloc -Q -N 3 -n 6 sh -c "cd $work; sh ./allocated '$MPIRUN' '$work/pmi_rank' $nap '$work'"

# part NAME: the sorted lines under this heading, with ';'
part() {
    sed -n "/^== $1\$/,/^== /p" out | grep -v '^==' | sort | tr '\n' ';'
}
expect_part() {
    [ "$(part "$1")" = "$2" ] || fail "$1: \"$(part "$1")\", expected \"$2\": $(cat err)"
}
expect_part all 'h1 0/6 0/4 0 h1;h1 1/6 1/4 1 h1;h1 2/6 2/4 2 h1;h1 3/6 3/4 3 h1;h2 4/6 0/1 4 h1;h3 5/6 0/1 5 h1;'
expect_part some 'h1 b  c;h1 b  c;h1 b  c;'
expect_part programs "h1 1 /usr 2;h1 it's * -n;h3 0 /usr 2;"
[ "$(part nodes | tr ';' '\n' | sed -n 's/^rank \([0-9]\) of 7, local . of \(.\):.*/\1 \2/p' | sort | tr '\n' ';')" = '0 5;1 1;2 1;3 5;4 5;5 5;6 5;' ] ||
    fail "nodes: $(part nodes)"
expect_part tags '0: word;1: word;2: word;'
expect_part stdin '0;1;2 word;word;'
expect_part files ''
[ "$(cat files/rank.[0-5]/stdout files/rank.3/stderr | tr '\n' ' ')" = '0 1 2 3 4 5 error ' ] || fail "files: $(ls -R files)"
expect_part own 'h1;h2;'
expect_part local 'h0;'
expect_part restarts 'mpirun: note: --max-restarts has no effect where another launcher starts the ranks;'
expect_part codes ''
expect_part killed 'code 143;'
expect_text out '^== end$'
finish
