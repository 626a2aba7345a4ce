#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun on several hosts, through an agent: starting, places, the exchange of addresses, binding.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
build_pmi_rank
far="timeout 50 $MPIRUN --launch-agent agent"

for hosts in 1 3 8; do
    expect_on 0 --hosts $hosts -- $far -host "h[1-$hosts]" -n 11 "$work/pmi_rank" open late halves board nodes say close
    [ "$(lines ' of 11, local')" -eq 11 ] || fail "$hosts hosts: $(cat out)"
done
expect_on 0 --hosts 8 -- env WEFT_LAUNCH_RADIX=2 $far -host 'h[1-8]' -n 16 "$work/pmi_rank" open board late close
[ ! -s out ] && [ ! -s err ] || fail "printed: $(cat out err)"

# mpirun's own host among the hosts; uneven slots.
expect_on 0 --hosts 3 -- $far -host h0:1,h3:3,h1 -n 5 "$work/pmi_rank" open board say close
for words in 'rank 0 of 5, local 0 of 1: 0,' 'rank 2 of 5, local 1 of 3: 1 2 3,' 'rank 4 of 5, local 0 of 1: 4,'; do
    expect_text out "$words"
done

# Each rank is on the host that its variables say; a working directory that its host lacks is no error.
cat >where <<'EOF'
mkdir /tmp/only-here
cd /tmp/only-here
HOSTNAME=here FOO='a b' $1 -host h1,h2,h3 -n 3 sh -c 'echo $(hostname) $PMIX_HOSTNAME $HOSTNAME "$FOO" $MASTER_ADDR'
$1 -host h1 -n 1 ./none
echo code $?
EOF
expect_on 0 --hosts 3 -- sh where "$far"
for host in h1 h2 h3; do
    expect_text out "^$host $host a b h1$"
done
expect_text out '^code 127$'

# Files of the ranks on their hosts; the input of a rank elsewhere.
cat >files <<'EOF'
seq 50000 | $1 -host h1,h2,h3 -n 6 --stdin 4 --outfile-pattern '/tmp/%h.%r' --errfile-pattern '/tmp/e.%r' \
    sh -c 'cat; echo $RANK; echo error >&2'
for rank in 0 1 2 3 4 5; do
    host=h$((rank / 2 + 1))
    echo $rank $(agent $host "wc -l </tmp/$host.$rank; tail -n 1 /tmp/$host.$rank; cat /tmp/e.$rank")
done
EOF
expect_on 0 --hosts 3 -- sh files "$far --map-by ppr:2:node"
[ "$(cat out)" = "$(printf '%s\n' '0 1 0 error' '1 1 1 error' '2 1 2 error' '3 1 3 error' '4 50001 4 error' '5 1 5 error')" ] ||
    fail "files: $(cat out err)"
expect_on 1 --hosts 2 -- $far -host h1,h2 -n 2 --outfile-pattern '/none/%r' true
expect_text err '/none/[01] for stdout of rank [01] cannot be written'

# A bridge with one address on every host is not taken for mpirun's.
expect_on 0 --hosts 3 --decoy-bridge -- $far -host h1,h2,h3 -n 3 "$work/pmi_rank" open board close
expect_on 0 --hosts 2 --decoy-bridge -- $far --iface eth0 -host h1,h2 -n 3 "$work/pmi_rank" open board close
expect_on 1 --hosts 1 --decoy-bridge -- $far --iface docker0 -host h1 -n 1 true
expect_text err 'none of the addresses 172.17.0.1'

# Each host has its own cores to share.
expect_on 0 --hosts 2 -- $far -host h1,h2 -n 2 sh -c 'grep Cpus_allowed_list /proc/self/status'
[ "$(lines 'Cpus_allowed_list')" -eq 2 ] || fail "binding: $(cat out)"

# All ranks are told the same about whether one of the hosts is oversubscribed, unless the user sets the variable.
crowded() {
    wanted=$1
    shift
    expect_on 0 --hosts 2 --cores 1 -- "$@" sh -c 'echo "<$WEFT_CROWDED>"'
    [ "$(sort -u out)" = "<$wanted>" ] || fail "crowded: $(cat out), expected $wanted: $*"
}
crowded '' $far -host h1,h2 -n 2
crowded yes $far -host h1:2,h2:1 -n 3
crowded no env WEFT_CROWDED=no $far -host h1:2,h2:1 -n 3
finish
