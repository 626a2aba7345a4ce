#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --mps on several hosts: each host with several ranks has an MPS, which ends with the job.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
. "$(dirname "$0")/mps_control.sh"
far="timeout 50 $MPIRUN --launch-agent agent"

# expect_calls KIND HOST...: on which hosts the program was called for that
expect_calls() {
    kind=$1
    shift
    [ "$(sed -n "s/^$kind \([^ ]*\) .*/\1/p" calls | sort | tr '\n' ' ')" = "$(echo "$@") " ] || fail "$kind on $*: $(cat calls)"
}

# A rank finds that of its host.
expect_on 0 --hosts 3 -- $far --mps -host h1:2,h2:1,h3:3 -n 6 sh -c 'echo $(hostname) $CUDA_MPS_PIPE_DIRECTORY'
expect_calls start h1 h3
expect_calls end h1 h3
[ "$(lines '^h[13] /.*/mps$')" -eq 5 ] && [ "$(lines '^h2$')" -eq 1 ] || fail "ranks: $(cat out)"
[ "$(lines '^h1 /.*-0/mps$')" -eq 2 ] && [ "$(lines '^h3 /.*-2/mps$')" -eq 3 ] || fail "places: $(cat out)"
[ ! -s err ] || fail "printed: $(cat err)"
expect_nothing_left
rm calls

# One line names them all if it does not start.
echo start-fails >how
expect_on 0 --hosts 3 -- $far --mps -host h1,h2,h3 -n 6 -ppn 2 true
[ "$(grep -c '^mpirun: note: no MPS on h[123] and 2 other hosts: .* does not start: no licence; ' err)" -eq 1 ] &&
    [ "$(wc -l <err)" -eq 1 ] || fail "printed: $(cat err)"
rm calls
echo well >how

# mpirun, or a daemon, is killed.
cat >ends <<'EOT'
. "$SOURCE/test/launch/await.sh"
timeout 50 $1 --launch-agent agent --mps -host h1,h2 -n 4 -ppn 2 sh -c "touch ready.\$RANK; exec sleep $2" >said 2>&1 </dev/null &
job=$!
await_files $job said ready.0 ready.1 ready.2 ready.3
case $3 in
mpirun) kill -9 $(grep -lsa mpirun /proc/[0-9]*/comm | cut -d / -f 3) ;;
daemon) agent h2 "kill -9 $(agent h2 "grep -lsa weftd /proc/[0-9]*/comm | cut -d / -f 3")" ;;
esac
wait $job
await $$ said sh -c '[ $(grep -c ^end calls) -eq 2 ]'
sh left sleep h1 h2
EOT
for killed in mpirun daemon; do
    rm -f ready.*
    expect_on 0 --hosts 2 -- sh -c "cd $work; . ./ends" ends "$MPIRUN" $nap $killed
    expect_output "$(printf 'left on h1: .\nleft on h2: .')"
    expect_calls start h1 h2
    expect_calls end h1 h2
    rm calls
done
finish
