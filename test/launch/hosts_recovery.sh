#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun --enable-recovery on several hosts: ranks, daemons and whole hosts are lost, and the others
# go on; nothing is left. With --max-restarts the job is started again, on all of them; with both a lost rank is, on its
# host.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
build_pmi_rank

# Runs on the login host: what is lost while the other ranks wait for the file `over`.
cat >goes_on <<'EOF'
. "$SOURCE/test/launch/await.sh"
run="timeout 50 $1 --enable-recovery --launch-agent agent"
hosts='h1 h2 h3 h4 h5'
cat >rank <<END
touch /dev/shm/\$PMIX_NAMESPACE.\$RANK
echo \$\$ >pid.\$RANK
touch ready.\$RANK
until [ -e over ]; do sleep 0.02; done
END
left() {
    for host in $hosts; do
        agent $host "cat /proc/[0-9]*/comm | grep -x -e weftd -e weft-pmix; ls -d /tmp/weft-* /dev/shm/weft-* 2>/dev/null"
    done
}
start() {
    rm -f ready.* over
    $run "$@" -host 'h[1-5]' -n 7 sh rank >said 2>&1 </dev/null &
    job=$!
    await_files $job said $(seq -f ready.%g 0 6)
}
# check NAME TEXT: TEXT is said, and then the job goes on to its end
check() {
    tries=0
    until grep -q "$2" said || [ $tries -gt 400 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
    touch over
    wait $job
    code=$?
    tries=0
    while [ -n "$(left)" ] && [ $tries -lt 50 ]; do
        sleep 0.2
        tries=$((tries + 1))
    done
    echo "$1: code $code: $(tr '\n' ' ' <said): left: $(left)"
}
daemon_on() {
    agent "$1" "grep -lsa weftd /proc/[0-9]*/comm | cut -d / -f 3"
}
server_on() {
    agent "$1" "grep -lsa weft-pmix /proc/[0-9]*/comm | cut -d / -f 3"
}

start; agent h4 "kill -9 $(cat pid.3)"; check rank lost
start; agent h5 "kill -9 $(daemon_on h5)"; check daemon 'h5 .*lost'
export WEFT_LAUNCH_RADIX=2
start; agent h1 "kill -9 $(daemon_on h1)"; check below 'h4 .*lost'
unset WEFT_LAUNCH_RADIX
start; agent h2 "kill -9 $(server_on h2)"; check server 'rank 6.*lost'
start; for host in h1 h2 h3 h4 h5; do agent $host "kill -9 $(daemon_on $host)"; done; check all 'all 7'
start; agent h1 'kill -9 -1'; hosts='h2 h3 h4 h5'; check host 'h1 .*lost'
EOF
expect_on 0 --hosts 5 -- sh -c "cd $work; . ./goes_on" goes_on "$MPIRUN"
expect_text out '^rank: code 0: mpirun: rank 3 (process [0-9]* on h4) was killed by signal 9 .* is lost; the job goes on without it mpirun: 1 of 7 ranks was lost: 3 : left: $'
expect_text out '^daemon: code 0: .*mpirun: the host h5 with rank 4 is lost (.*); the job goes on without it .*mpirun: 1 of 7 ranks was lost: 4 .*: left: $'
expect_text out '^host: code 0: .*mpirun: the host h1 with rank 0 and 1 more is lost (.*); the job goes on without it mpirun: 2 of 7 ranks were lost: 0,5 .*: left: $'
expect_text out '^below: code 0: .*the host h1 with .* is lost .*the host h3 with rank 2 is lost .*the host h4 with rank 3 is lost .* 4 of 7 ranks were lost: 0,2-3,5 .*: left: $'
expect_text out '^server: code 0: .*the PMIx server of host h2 has ended: .*rank 6 .*lost.* 2 of 7 ranks were lost: 1,6 : left: $'
expect_text out '^all: code 137: .*all 7 ranks were lost .*left: $'

# Fences end without lost ranks, wherever these are; MPI_Abort still ends the job.
far="timeout 50 $MPIRUN --enable-recovery --launch-agent agent"
for radix in 1 32; do
    expect_on 0 --hosts 3 -- env WEFT_LAUNCH_RADIX=$radix $far -host h1,h2,h3 -n 5 "$work/pmi_rank" kill=1 open nodes fences halves close
    expect_text err '1 of 5 ranks was lost: 1$'
    expect_on 0 --hosts 3 -- env WEFT_LAUNCH_RADIX=$radix $far -host h1,h2,h3 -n 5 "$work/pmi_rank" open kill=4 halves fences close
    expect_text err '1 of 5 ranks was lost: 4$'
done
expect_on 7 --hosts 3 -- $far -host h1,h2,h3 -n 4 "$work/pmi_rank" open board abort=2,7 pause
expect_on 0 --hosts 3 -- $far -host h1,h2,h3 -n 7 "$work/pmi_rank" open board nodes halves late close

expect_on 0 --hosts 3 -- timeout 50 "$MPIRUN" --max-restarts 2 --launch-agent agent -host h1,h2,h3 -n 5 sh -c "$work/pmi_rank open board close; [ \$RANK -ne 2 ] || [ \$TORCHELASTIC_RESTART_COUNT -eq 2 ]"
expect_text err 'the job is started again (2 of at most 2 times)'

"${MPICC:-$BUILD/tools/mpicc}" -O1 -Wall -Wextra "$SOURCE/test/fault/rejoin.c" -o rejoin -lm || exit 1
for deaths in 01000 10000 00110; do
    rm -f checkpoint
    expect_on 0 --hosts 3 -- $far --max-restarts 2 -host h1,h2,h3 -n 5 ./rejoin checkpoint 1 $deaths
    expect_text err "^mpirun: rank [0-4] (process [0-9]* on h[123]) was killed by signal 9 .* is lost; it is started again (1 of at most 2 times)$"
    expect_text out '^trained in [0-9]* sessions$'
done
# A host that is lost with its ranks ends the job.
cat >loses_host <<'EOF'
. "$SOURCE/test/launch/await.sh"
rm -f ready.*
$1 --enable-recovery --max-restarts 2 --launch-agent agent -host h1,h2 -n 2 sh -c 'touch ready.$RANK; exec sleep 60' &
await_files $! /dev/null ready.0 ready.1
agent h2 'kill -9 -1'
wait $!
EOF
expect_on 137 --hosts 2 -- sh -c "cd $work; . ./loses_host" loses_host "$MPIRUN"
expect_text err 'the host h2 with rank 1 is lost (.*); ending the job$'
finish
