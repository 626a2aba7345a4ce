#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What tools see of networks: each message is counted once, by the transport that it goes by, and
# lost peers are events.
# Cases: tcp ofi events
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -o "$work/network_events" "$SOURCE/test/nodes/network_events.c" || fail "network_events.c cannot be compiled"
"$MPICC" -o "$work/pvar_counts" "$SOURCE/test/mpi/tool/pvar_counts.c" || fail "pvar_counts.c cannot be compiled"

# counts NETWORK OPTION...: the last rank is on another host than the first, and reached by NETWORK
counts() {
    network=$1
    shift
    for ranks in 2 5; do
        expect_on 0 --hosts 2 -- timeout 60 "$MPIRUN" --launch-agent agent --map-by node -host h1:1,h2:4 -np $ranks "$@" "$work/pvar_counts" "$network"
        [ ! -s err ] || fail "$network: $(head -c 600 err)"
    done
}

cat >go <<'EOT'
. "$SOURCE/test/launch/await.sh"
WEFT_LOST_AFTER=600 timeout 100 "$MPIRUN" --launch-agent agent -host h1,h2 -np 2 -x WEFT_LOST_AFTER=3 ./network_events "$PWD/begun" >said 2>&1 </dev/null &
job=$!
await_files $job said begun || exit
agent h2 'ip link set eth0 down'
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
EOT
events() {
    # A peer that ends when it may
    expect_on 0 --hosts 3 -- timeout 60 "$MPIRUN" --launch-agent agent -host h1,h2,h3 -np 3 "$work/network_events"
    [ ! -s err ] || fail "an expected end: $(head -c 600 err)"
    # and one that vanishes. mpirun's own limit is high, so the rank that waits must detect the loss.
    expect_on 0 --hosts 2 -- sh go
    grep -q '^code 42: ' out || fail "a vanished network: $(cat out err)"
}

for case in $cases; do
    case $case in
    tcp) counts tcp ;;
    ofi)
        needs_libfabric
        counts ofi -x 'WEFT_FABRIC=tcp;ofi_rxm'
        counts ofi -x 'WEFT_FABRIC=tcp;ofi_rxm' -x WEFT_RENDEZVOUS=stream
        ;;
    events) events ;;
    esac
done
finish
