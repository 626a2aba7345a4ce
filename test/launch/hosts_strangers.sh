#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Silent connections to mpirun's port, made before the daemons call, do not keep a job from starting,
# though mpirun may open few files; and the port is closed while the job runs.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
: "${PYTHON:=python3}"
build_pmi_rank

# An agent that makes the connections from the daemon's host before it starts the daemon.
cat >busy_agent <<'EOF'
#!/bin/sh
host=$1
cat >text.$host
set -- "$@"
{ read magic; read secret node port; read addresses; } <text.$host
agent $host "exec $PYTHON $SOURCE/test/launch/silent_callers.py 300 $port $addresses" >there.$host 2>&1 </dev/null &
callers=$!
until grep -qs there there.$host; do
    kill -0 $callers 2>/dev/null || exit 9
    sleep 0.02
done
agent "$@" <text.$host
code=$?
kill $callers
exit $code
EOF
chmod +x busy_agent
export PYTHON SOURCE

far="timeout 50 $MPIRUN --launch-agent $work/busy_agent"
expect_on 0 --hosts 3 -- sh -c "ulimit -n 256; cd '$work'; exec $far -host h1,h2,h3 -n 3 '$work/pmi_rank' open board close"
[ ! -s err ] || fail "printed: $(head -c 600 err)"

# With --iface mpirun listens at that interface's address alone; once all daemons have joined, nothing
# listens but the PMIx servers, on the loopback interface.
cat >ports <<'EOF'
#!/bin/sh
awk '$4 == "0A" { print $2 }' /proc/net/tcp /proc/net/tcp6 | cut -d : -f 1 | grep -v '7F$'
exit 0
EOF
cat >agent_that_looks <<'EOF'
#!/bin/sh
./ports >before
exec agent "$@"
EOF
chmod +x ports agent_that_looks
expect_on 0 --hosts 1 -- sh -c "cd '$work'; exec timeout 50 $MPIRUN --launch-agent ./agent_that_looks --iface eth0 -host h0,h1 -n 2 ./ports"
[ "$(cat before)" = 0A004D0A ] || fail "listened at $(cat before), not at 10.77.0.10"
[ ! -s out ] || fail "still listens at $(cat out)"
finish
