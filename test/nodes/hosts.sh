#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The hosts of test/cluster themselves: they are isolated, they reach one another, and nothing of
# them is left at the end.
. "$(dirname "$0")/setup_hosts.sh"

# Each host reaches each other one by name, as by ssh.
cat >reach <<'EOF2'
for from in h1 h2 h3; do
    for to in h0 h1 h2 h3; do
        agent -q -o X=y $from "echo \$(hostname) \$(/run/cluster/bin/agent $to hostname)"
    done
done
agent h2 'exit 3'
echo code $?
agent h9 true
echo code $?
agent h1 'kill -9 $$'
echo code $?
echo words | agent h3 cat
agent h3 'cat >/dev/null; echo end of input' </dev/null
EOF2
expect_on 0 --hosts 3 -- sh reach
for from in h1 h2 h3; do
    for to in h0 h1 h2 h3; do
        expect_text out "^$from $to$"
    done
done
expect_text out '^code 3$'
[ "$(lines '^code 255$')" -eq 2 ] || fail "no host, or a killed command: $(cat out)"
expect_text err 'no host h9'
expect_text out '^words$'
expect_text out '^end of input$'

# Files, processes and interfaces of one host are not visible on another.
cat >apart <<'EOF2'
agent h1 "echo 1 >/tmp/mine; echo 1 >/dev/shm/mine; sleep $1 & cat /proc/sys/kernel/random/boot_id"
agent h2 "ls /tmp /dev/shm | grep mine; grep -c $1 /proc/[0-9]*/cmdline | grep -v ':0$'; cat /proc/sys/kernel/random/boot_id"
agent h1 "ls /sys/class/net | tr '\n' ' '"
agent h1 "cat $PWD/reach >/dev/null && echo shared"
EOF2
expect_on 0 -- sh apart $nap
[ "$(sort -u out | grep -c '^[0-9a-f]*-.*-')" -eq 2 ] || fail "two hosts, one boot_id: $(cat out)"
expect_text out '^eth0 lo shared$'
! grep -q -e mine -e "$nap" out || fail "one host sees another's files or processes: $(cat out)"

# Options
cat >odd <<'EOF2'
for host in h1 h2; do
    agent $host "echo $host \$(df -k --output=size /dev/shm | tail -n 1) \$(cat /sys/class/net/eth0/mtu) \
        \$(nproc) \$(sed -n 's/^Seccomp:.//p' /proc/self/status) \$(ip -o -4 addr show docker0 | sed 's/.*inet \([^ ]*\).*/\1/')"
done
EOF2
expect_on 0 --shm 64M@h2 --shm 32M --no-cma h1 --mtu 9000 --rate 200mbit --cores 1 --decoy-bridge -- sh odd
expect_text out '^h1 32768 9000 1 2 172.17.0.1/16$'
expect_text out '^h2 65536 9000 1 0 172.17.0.1/16$'
expect_on 0 --networks 2 -- agent h1 "cat /sys/class/net/eth1/operstate; ip -o -4 addr show eth1"
expect_text out '^up$'
expect_text out '10[.]78[.]0[.]11/24'
expect_on 5 --on h2 -- sh -c '[ "$(hostname)" = h2 ] && exit 5'
expect_on 143 -- sh -c 'kill $$'
expect_on 127 -- no-such-program
expect_on 2 --slots 1,2,3 -- true
expect_text err '3 numbers for 2 hosts'

# Nothing is left after a normal end, a signal, or SIGKILL to either of the processes that hold the
# cluster.
expect_on 0 -- sh -c "agent h1 'sleep $nap & sleep $nap'&
    sleep $nap & until [ \"\$(agent h1 'grep -l $nap /proc/[0-9]*/cmdline | wc -l')\" -ge 2 ]; do :; done"
expect_nothing_left
for victim in TERM KILL process-1; do
    "$SOURCE/test/cluster/hosts" -- sh -c "agent h2 'setsid sleep $nap' & sleep $nap" >out 2>err </dev/null &
    cluster=$!
    until_true has_naps 2
    case $victim in
    process-1) kill -KILL $(cat /proc/$cluster/task/$cluster/children) ;;
    *) kill -$victim $cluster ;;
    esac
    wait $cluster 2>/dev/null
    expect_nothing_left
done
finish
