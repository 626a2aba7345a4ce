#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two networks: messages over libfabric go in parts over both, and arrive complete. A host that
# lacks one of the networks at the start is named, and so is an interface that goes down while the
# job runs.
. "$(dirname "$0")/setup_hosts.sh"
needs_libfabric
for program in bulk forever; do
    "$MPICC" -o "$work/$program" "$SOURCE/test/nodes/$program.c" || fail "$program.c cannot be compiled"
done

# Prints the bytes that each host has sent over each network. The command $3 runs on h2 before the
# job, $4 while it runs.
cat >"$work/go" <<'EOT'
. "$SOURCE/test/launch/await.sh"
cd "$1"
[ -z "$3" ] || agent h2 "$3"
timeout 50 "$2" --launch-agent agent -host h1:1,h2:2 -np 3 -x WEFT_FABRIC='tcp;ofi_rxm' -x WEFT_RAILS=2 $5 >said 2>&1 </dev/null &
job=$!
if [ -n "$4" ]; then
    await_files $job said begun || exit
    agent h2 "$4"
fi
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
for host in h1 h2; do
    echo "$host $(agent $host 'cat /sys/class/net/eth[01]/statistics/tx_bytes | tr "\n" " "')"
done
EOT
# striped BEFORE AMID PROGRAM...
striped() {
    rm -f "$work/begun"
    before=$1 amid=$2
    shift 2
    expect_on 0 --hosts 2 --networks 2 -- sh "$work/go" "$work" "$MPIRUN" "$before" "$amid" "$*"
}

striped '' '' ./bulk 4
grep -q '^code 0: $' out || fail "over two networks: $(cat out err)"
# Almost all bytes of the 12 messages that each rank sends go in parts.
awk '/^h[12] / { hosts++; if ($2 < 1e6 || $3 < 1e6 || $2 > 4 * $3 || $3 > 4 * $2) bad = 1 } END { exit bad || hosts != 2 }' out ||
    fail "not both networks have carried it: $(cat out)"

striped 'ip link set eth1 down' '' ./bulk 1
grep -q '^code [1-9][0-9]*: .*rank [0-2] on h[12] uses [12] network interfaces, this rank on h[12] uses [12]' out ||
    fail "one network of h2 is down at the start: $(cat out err)"

for network in 0 1; do
    striped '' "ip link set eth$network down" ./forever "$work/begun"
    grep -q "^code [1-9][0-9]*: .*on h2 cannot be reached from other hosts any more: its interface eth$network failed: Network is down" out ||
        fail "network $network of h2 goes down: $(cat out err)"
done
finish
