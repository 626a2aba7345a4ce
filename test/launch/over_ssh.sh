#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun on several hosts as users have them: each runs sshd, and no option says how to reach it.
. "$(dirname "$0")/../nodes/setup_hosts.sh"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) && [ -f /etc/ssh/ssh_config ] || {
    echo "sshd or ssh is missing (packages openssh-server, openssh-client)"
    exit 77
}
build_pmi_rank
for key in user host stranger; do
    ssh-keygen -q -t ed25519 -N '' -f $key || exit 1
done
cat >sshd_config <<EOF
HostKey $work/host
AuthorizedKeysFile $work/user.pub
PidFile none
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
EOF
cat >ssh_config <<EOF
Match originalhost closed
    Hostname h2
    IdentityFile $work/stranger
Match !originalhost closed
    IdentityFile $work/user
Match all
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile $work/known
    StrictHostKeyChecking accept-new
    ConnectionAttempts 20
    LogLevel ERROR
EOF

# On each host: it knows how to reach the others, and what this machine's user does at a login is not done.
cat >prepare <<EOF
mkdir -p /run/sshd && mount --bind $work/ssh_config /etc/ssh/ssh_config || exit 1
for file in ~/.bashrc ~/.profile ~/.bash_profile; do
    [ ! -e \$file ] || mount --bind /dev/null \$file || exit 1
done
EOF

# sh serve COMMAND...: on the login host, when all others run sshd.
cat >serve <<EOF
sh $work/prepare || exit 1
for host in \$(echo \$CLUSTER_HOSTS | tr , ' '); do
    agent \$host "sh $work/prepare && $sshd -f $work/sshd_config" || exit 1
done
exec "\$@"
EOF
far="timeout 100 $MPIRUN"

# Daemons start daemons from host to host; ranks join, and what they print and return comes back.
expect_on 0 --hosts 5 -- sh serve env WEFT_LAUNCH_RADIX=2 $far -host 'h[1-5]' -n 7 "$work/pmi_rank" open late halves board nodes say close
[ "$(lines ' of 7, local')" -eq 7 ] || fail "five hosts: $(cat out err)"
[ ! -s err ] || fail "printed: $(cat err)"

# Input, environment and exit code cross, as with any other agent.
echo words >input
cat >cross <<'EOF'
FOO='a  b' "$@" -host h1,h2 -n 2 --stdin 1 sh -c 'echo $(hostname) "$FOO" $(cat)' <input
"$@" -host h1,h2 -n 2 sh -c 'exit $((RANK * 3))'
echo code $?
EOF
expect_on 0 --hosts 2 -- sh serve sh cross $far
expect_text out '^h1 a  b'
expect_text out '^h2 a  b words$'
expect_text out '^code 3$'

# Nothing is left of a job whose mpirun dies.
cat >sudden <<'EOF'
. "$SOURCE/test/launch/await.sh"
$2 -host h1,h2 -n 2 sh -c 'touch ready.$RANK; exec sleep '$1 &
await_files $! /dev/null ready.0 ready.1
kill -9 $!
sh left sleep h1 h2
EOF
expect_on 0 --hosts 2 -- sh serve sh sudden $nap "$MPIRUN"
[ "$(lines 'left on h[12]: \.$')" -eq 2 ] || fail "a launcher that was killed: $(cat out err)"

# A host that refuses the login and a host that does not exist are named, with the message of ssh.
expect_on 1 --hosts 2 -- sh serve $far -host h1,closed -n 2 true
expect_text err 'Permission denied'
expect_text err 'mpirun: .*closed'
expect_on 1 --hosts 1 -- sh serve $far -host h1,none-such -n 2 true
expect_text err 'none-such'
finish
