#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What tools see of networks: each message is counted once, by the transport that it goes by, and
# lost peers are events.
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
counts tcp
if grep -q '^#define HAVE_LIBFABRIC' "$BUILD/config.h"; then
    counts ofi -x 'WEFT_FABRIC=tcp;ofi_rxm'
    counts ofi -x 'WEFT_FABRIC=tcp;ofi_rxm' -x WEFT_RENDEZVOUS=stream
fi

# A peer that ends when it may
expect_on 0 --hosts 3 -- timeout 60 "$MPIRUN" --launch-agent agent -host h1,h2,h3 -np 3 "$work/network_events"
[ ! -s err ] || fail "an expected end: $(head -c 600 err)"

# and one that vanishes. mpirun's own limit is high, so the rank that waits must detect the loss.
cat >"$work/go" <<'EOT'
cd "$1"
WEFT_LOST_AFTER=600 timeout 50 "$2" --launch-agent agent -host h1,h2 -np 2 -x WEFT_LOST_AFTER=3 ./network_events "$PWD/begun" >said 2>&1 </dev/null &
job=$!
until [ -e begun ]; do sleep 0.05; done
agent h2 'ip link set eth0 down'
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
EOT
expect_on 0 --hosts 2 -- sh "$work/go" "$work" "$MPIRUN"
grep -q '^code 42: ' out || fail "a vanished network: $(cat out err)"
finish
