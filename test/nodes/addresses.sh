#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Hosts with more than one address: hundreds on lo, which lead to no other host, and two on the
# interface between hosts.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -o "$work/sums" "$SOURCE/test/nodes/sums.c" || fail "sums.c cannot be compiled"

cat >"$work/go" <<'EOT'
for number in 0 1 2; do
    agent h$number "for i in \$(seq $2); do echo addr add 10.99.\$((i / 250)).\$((i % 250 + 1))/32 dev lo; done >/tmp/lines
        echo addr add 10.55.0.1$number/24 dev eth0 >>/tmp/lines
        ip -batch /tmp/lines" || exit 99
done
cd "$1" && exec timeout 40 "$3" --launch-agent agent -host h1:2,h2:2 ./sums
EOT
for count in 20 300; do
    expect_on 0 --hosts 2 -- sh "$work/go" "$work" $count "$MPIRUN"
    [ "$(lines '^rank [0-3]: right$')" -eq 4 ] || fail "$count more addresses: $(head -c 600 out err)"
done

# Hosts without an address that Weft's TCP can use.
cat >"$work/go" <<'EOT'
for number in 1 2; do
    agent h$number "ip addr add fd00:77::1$number/64 dev eth0 nodad && ip addr del 10.77.0.1$number/24 dev eth0" || exit 99
done
agent h0 "ip addr add fd00:77::10/64 dev eth0 nodad"
cd "$1" && exec timeout 40 "$2" --launch-agent agent -host h1,h2 ./sums
EOT
expect_on 16 --hosts 2 -- sh "$work/go" "$work" "$MPIRUN"
expect_text err 'no network interface of h[12] has an IPv4 address'
finish
