#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# However a job on several hosts ends, it ends everywhere, and mpirun says why.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
build_pmi_rank

# Runs on the login host: ends COMMAND, with the job in $job; then nothing may be left on any host.
cat >ends <<'EOF'
. "$SOURCE/test/launch/await.sh"
run="timeout 50 $1 --launch-agent agent"
nap=$2
hosts='h1 h2 h3 h4 h5'
# Each rank makes a shared segment, starts a child, and waits.
cat >rank <<END
touch /dev/shm/\$PMIX_NAMESPACE.\$RANK
echo \$\$ >pid.\$RANK
touch ready.\$RANK
sleep $nap &
exec sleep $nap
END
left() {
    for host in $hosts; do
        agent $host "grep -lsaP '^sleep\\x00$nap' /proc/[0-9]*/cmdline; ls -d /tmp/weft-* /dev/shm/weft-* 2>/dev/null"
    done
}
start() {
    rm -f ready.*
    WEFT_LAUNCH_RADIX=2 $run "$@" -host 'h[1-5]' -n 7 sh rank >said 2>&1 </dev/null &
    job=$!
    await_files $job said $(seq -f ready.%g 0 6)
}
# check NAME: how the job ended, what was said, what is left after at most 10 s
check() {
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
mpirun_itself() {
    grep -lsaP "^$job\$|mpirun" /proc/[0-9]*/comm | cut -d / -f 3
}

start; agent h4 "kill -9 $(cat pid.3)"; check rank
start; agent h5 "kill -9 $(daemon_on h5)"; check leaf
start; agent h1 "kill -9 $(daemon_on h1)"; check inner
start; agent h1 "kill $(daemon_on h1)"; check told
start; kill -9 $(mpirun_itself); check mpirun
start; kill -TERM $(mpirun_itself); check term
# On a busy machine the time may be over before the ranks run.
start --timeout 2 2>/dev/null; check timeout
EOF
expect_on 0 --hosts 5 -- sh -c "cd $work; . ./ends" ends "$MPIRUN" $nap
expect_text out '^rank: code 137: mpirun: rank 3 (process [0-9]* on h4) was killed by signal 9 .*left: $'
expect_text out '^leaf: code 137: .*mpirun: the host h5 with rank 4 was lost: .*left: $'
expect_text out '^inner: code 137: .*mpirun: the host h1 with rank 0 and 1 more was lost: .*left: $'
expect_text out '^told: code 137: mpirun: the host h1 .*left: $'
expect_text out '^mpirun: code 137: .*left: $'
expect_text out '^term: code 143: mpirun: SIGTERM received.*left: $'
expect_text out '^timeout: code 124: mpirun: the job has not ended within 2 s.*left: $'

far="timeout 50 $MPIRUN --launch-agent agent"
for end in 'abort=2,7 7' 'kill=1 137' 'exit=2,3 3'; do
    expect_on ${end#* } --hosts 3 -- $far -host h1,h2,h3 -n 4 "$work/pmi_rank" open board ${end% *} board pause
done

# A daemon that was started with SIGCHLD ignored learns of the ends of its ranks and of its agents.
cat >deaf <<EOF
#!/bin/sh
exec "$SOURCE/test/cluster/agent" "\$1" "exec env --ignore-signal=CHLD \$2"
EOF
chmod +x deaf
expect_on 5 --hosts 3 -- env WEFT_LAUNCH_RADIX=1 timeout 50 "$MPIRUN" --launch-agent "$work/deaf" -host h1,h2,h3 -n 3 sh -c '[ $RANK -ne 2 ] || exit 5'
finish
