#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manifest of a job on several hosts has what each of their daemons tells.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
far="timeout 50 $MPIRUN --launch-agent agent"
expect_on 0 --hosts 3 -- sh -c "cd $work; $far --manifest run.json -host h1,h2,h3 -n 5 true; sed 's/\"memory_bytes\": [0-9]*/\"memory_bytes\": 1/' run.json >old.json; $far --rerun old.json"
[ -e run.json ] || {
    grep -q 'this build of Weft has no manifests' err && exit 77
    fail "no manifest: $(cat err)"
    finish
}
python3 "$SOURCE/test/launch/manifest_reader.py" run.json 'plan.hosts.1={"name":"h2","ranks":[1,4]}' 'hosts.0.name="h1"' \
    'hosts.1.kernel=*' 'hosts.2.memory_bytes=*' 'exit_code=0' 'ranks.4.exit_code=0' >said 2>&1 || fail "$(cat said)"
for host in h1 h2 h3; do
    expect_text err "^mpirun: rerun: $host memory_bytes: then 1, now [0-9]*\$"
done
[ "$(grep -c 'rerun: h' err)" -eq 3 ] || fail "other differences of hosts: $(cat err)"
finish
