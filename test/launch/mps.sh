#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --mps: the job's own MPS is there while its ranks are, and gone however the job ends. A program
# stands for NVIDIA's.
. "$(dirname "$0")/setup.sh"
. "$(dirname "$0")/mps_control.sh"
show='echo "$CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_LOG_DIRECTORY"'

# expect_calls NUMBER: of the program since the last time
expect_calls() {
    got=$(cat calls 2>/dev/null | wc -l)
    [ "$got" -eq "$1" ] || fail "$got calls, expected $1: $(cat calls)"
    rm -f calls
}

# One was started and ended, by the same variables
expect_one() {
    expect_nothing_left
    set -- $(cat calls)
    [ $# -eq 14 ] || fail "calls: $(cat calls)"
    expect_text calls "^start [^ ]* 700 $work/weft-[^ ]*/mps $work/weft-[^ ]*/mps-log devices:\$"
    expect_text calls "^end [^ ]* 700 $work/weft-[^ ]*/mps $work/weft-[^ ]*/mps-log quit -t 2\$"
    expect_calls 2
}

# start OPTION...: mpirun with two ranks that wait
start() {
    "$MPIRUN" --mps "$@" -n 2 sleep $nap >out 2>err </dev/null &
    mpirun=$!
    until_true has_naps 3
}

# expect_end CODE
expect_end() {
    wait $mpirun 2>/dev/null
    got=$?
    [ $got -eq "$1" ] || fail "exit code $got, expected $1: $(cat err)"
}

# Each rank finds it, and it runs before the ranks do.
expect 0 "$MPIRUN" --mps -n 2 sh -c "$show"'; [ -s "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid" ]'
[ ! -s err ] || fail "printed: $(cat err)"
[ "$(sort -u out)" = "$(sed -n 's/^start [^ ]* 700 \(.*\) devices:$/\1/p' calls)" ] || fail "ranks: $(cat out), MPS: $(cat calls)"
expect_one
expect 0 env WEFT_MPS=yes CUDA_VISIBLE_DEVICES=2,3 "$MPIRUN" -n 2 sh -c 'echo $CUDA_VISIBLE_DEVICES'
expect_output "$(printf '2,3\n2,3')"
expect_one
expect 0 "$MPIRUN" --mps -n 1 true : -n 1 true
expect_one
# They get as many hardware queues as clients of MPS do.
expect 0 "$MPIRUN" --mps -n 2 sh -c 'echo "<$CUDA_DEVICE_MAX_CONNECTIONS>"'
mv out ours
expect_one
expect 0 env CUDA_MPS_PIPE_DIRECTORY=mine "$MPIRUN" -n 2 sh -c 'echo "<$CUDA_DEVICE_MAX_CONNECTIONS>"'
cmp -s out ours || fail "queues: $(cat ours), under another MPS: $(cat out)"

# Two starts of a job have one each.
expect 3 "$MPIRUN" --mps --max-restarts 1 -n 2 sh -c "exit 3"
expect_nothing_left
[ "$(cut -d ' ' -f 4 calls | sort -u | wc -l)" -eq 2 ] || fail "restarts: $(cat calls)"
expect_calls 4

# It is not started for one rank, if nobody wants it, or if the user has one.
expect 0 "$MPIRUN" --mps -n 1 sh -c "$show"
expect_output ' '
expect 0 "$MPIRUN" -n 2 sh -c "$show"
expect_output "$(printf ' \n ')"
expect 0 env CUDA_MPS_PIPE_DIRECTORY=mine "$MPIRUN" --mps -n 2 sh -c "$show"
expect_output "$(printf 'mine \nmine ')"
expect 0 "$MPIRUN" --mps -x CUDA_MPS_PIPE_DIRECTORY=mine -n 2 sh -c "$show"
expect_output "$(printf 'mine \nmine ')"
expect 2 "$MPIRUN" --mps -n 2
expect 127 "$MPIRUN" --mps -n 2 ./none
expect_calls 0

# All ways in which a job ends.
expect 3 "$MPIRUN" --mps -n 2 sh -c "[ \$RANK -eq 0 ] && exit 3; sleep $nap"
expect_one
expect 137 "$MPIRUN" --mps -n 2 sh -c "[ \$RANK -eq 0 ] && kill -9 \$\$; sleep $nap"
expect_one
expect 126 "$MPIRUN" --mps -n 2 /
expect_calls 0
start
kill -TERM $mpirun
expect_end 143
expect_one
start
kill -INT $mpirun
expect_end 130
expect_one
start
kill -KILL $mpirun
expect_end 137
until_true grep -q ^end calls
expect_one
# The whole process group of mpirun
setsid "$MPIRUN" --mps -n 2 sleep $nap >out 2>err </dev/null &
mpirun=$!
until_true has_naps 3
kill -s KILL -- -$mpirun
expect_end 137
until_true grep -q ^end calls
expect_one

# mpirun is killed while the program starts.
echo start-hangs >how
"$MPIRUN" --mps -n 2 sleep $nap >out 2>err </dev/null &
mpirun=$!
until_true has_naps 1
kill -KILL $mpirun
expect_end 137
expect_nothing_left
rm -f calls

# The job runs without.
for how in start-hangs start-fails; do
    echo $how >how
    expect 0 "$MPIRUN" --mps -n 2 sh -c "$show"
    expect_output "$(printf ' \n ')"
    expect_text err '^mpirun: note: no MPS on [^ ]*: nvidia-cuda-mps-control does not start'
    [ "$(wc -l <err)" -eq 1 ] || fail "$how: $(cat err)"
    expect_nothing_left
    expect_calls 1
done
expect 0 "$MPIRUN" --mps -n 2 true
expect_text err 'nvidia-cuda-mps-control does not start: no licence; ranks that share a GPU take turns there$'
expect 0 "$MPIRUN" --mps -q -n 2 true
[ ! -s err ] || fail "with -q: $(cat err)"
rm -f calls

# The program does not end its daemon, which is killed.
echo quit-hangs >how
expect 0 "$MPIRUN" --mps -n 2 true
expect_one

# Without the program a host with a GPU is named, and others have nothing to be shared.
rm bin/nvidia-cuda-mps-control
[ -x /usr/bin/nvidia-cuda-mps-control ] || [ -x /usr/local/nvidia/bin/nvidia-cuda-mps-control ] || {
    expect 0 env PATH=/usr/bin:/bin "$MPIRUN" --mps -n 2 true
    if [ -e /dev/nvidiactl ]; then
        expect_text err '^mpirun: note: no MPS on [^ ]*: nvidia-cuda-mps-control was not found; '
    else
        [ ! -s err ] || fail "without the program: $(cat err)"
    fi
}
finish
