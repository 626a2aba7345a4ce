#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A private Slurm cluster of this host alone, for tests; all its files lie in one directory.
#
#   slurm-one-host.sh start DIR [SLOTS]    prints the line to evaluate: export SLURM_CONF=DIR/slurm.conf
#   slurm-one-host.sh stop DIR
#
# DIR is an absolute path of at most 64 characters. Exit code 77: a program is missing; a line says
# which. Always run srun under timeout, with -O if there are more tasks than slots, and check what
# the program prints: srun (22.05) returns 0 for some launches that failed.
set -eu
command=${1:?start or stop}
directory=${2:?a directory}
slots=${3:-16}
host=$(hostname -s)
user=$(id -un)

skip() {
    echo "$*"
    exit 77
}

fail() {
    echo "slurm-one-host.sh: $*" >&2
    exit 1
}

# try TENTHS COMMAND...: repeat until it succeeds, for at most so many tenths of a second
try() {
    left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.1
    done
}

# free_port [NOT]: a TCP port below the ephemeral range on which no process listens, other than NOT
free_port() {
    awk -v seed="$$$1" -v other="$1" '
        FNR > 1 { split($2, address, ":"); taken[address[2]] }
        END {
            srand(seed)
            do port = 20000 + int(rand() * 12000)
            while (sprintf("%04X", port) in taken || port == other)
            print port
        }' /proc/net/tcp /proc/net/tcp6
}

check() {
    for program in munged slurmctld slurmd srun; do
        command -v "$program" >/dev/null || skip "$program is missing (packages slurmctld, slurmd, slurm-client, munge)"
    done
    getent ahostsv4 "$host" >/dev/null || skip "the name of this host, $host, does not resolve"
    case $directory in /*) ;; *) fail "$directory is no absolute path" ;; esac
    # The paths of the sockets in this directory may have 107 characters at most.
    [ ${#directory} -le 64 ] || fail "$directory is longer than 64 characters"
    [ ! -e "$directory/slurm.conf" ] || fail "$directory/slurm.conf exists: stop that cluster first"
}

start_munge() {
    (umask 077 && head -c 64 /dev/urandom >"$directory/munge/key")
    munged --force --num-threads=1 -S "$directory/munge/socket" --key-file="$directory/munge/key" \
        --pid-file="$directory/munged.pid" --log-file="$directory/log/munged" --seed-file="$directory/munge/seed"
}

# With these flags the daemons listen only on the address to which the host's name resolves.
loopback() {
    case $(getent ahostsv4 "$host" | awk '{print $1; exit}') in
    127.*) echo CommunicationParameters=NoInAddrAny,NoCtldInAddrAny ;;
    esac
}

configure() {
    port=$(free_port 0)
    cat >"$directory/slurm.conf" <<EOF
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$(free_port "$port")
AuthType=auth/munge
AuthInfo=socket=$directory/munge/socket
CredType=cred/munge
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.pid
SlurmctldLogFile=$directory/log/slurmctld
SlurmdLogFile=$directory/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MessageTimeout=60
KillWait=2
WaitTime=0
UnkillableStepTimeout=10
$(loopback)
NodeName=$host NodeAddr=127.0.0.1 Sockets=1 CoresPerSocket=$slots ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes=$host Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
EOF
    # With another plugin slurmd needs a cgroup file system, and does not start without one.
    echo CgroupPlugin=cgroup/v1 >"$directory/cgroup.conf"
    # Job numbers begin at 1 in every cluster, so in /tmp the directories of two clusters would
    # clash.
    echo "PMIxCliTmpDirBase=$directory/tmp" >"$directory/mpi.conf"
}

is_idle() {
    timeout 5 sinfo -h -o %T | grep -q -E '^(idle|mixed|alloc)'
}

start() {
    check
    umask 022
    mkdir -p "$directory/state" "$directory/spool" "$directory/munge" "$directory/log" "$directory/tmp"
    chmod 755 "$directory" "$directory/munge"
    chmod 1777 "$directory/tmp"
    start_munge
    configure
    SLURM_CONF=$directory/slurm.conf
    export SLURM_CONF
    trap stop EXIT
    slurmctld -c -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF"
    try 200 is_idle || fail "the node is not idle after 20 s; $directory/log says why"
    trap - EXIT
    echo "export SLURM_CONF=$SLURM_CONF"
}

# True also for a process that has ended and was not waited for yet
is_gone() {
    ! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# stop_daemon NAME: SIGTERM, and SIGKILL after 5 s; nothing if the process id is another program's.
stop_daemon() {
    [ -s "$directory/$1.pid" ] || return 0
    pid=$(cat "$directory/$1.pid")
    grep -q -s -F "$directory/" "/proc/$pid/cmdline" || return 0
    kill "$pid" 2>/dev/null || return 0
    try 50 is_gone "$pid" || kill -9 "$pid" 2>/dev/null || true
}

stop() {
    [ -e "$directory/slurm.conf" ] || return 0
    SLURM_CONF=$directory/slurm.conf timeout 10 scancel -u "$user" >/dev/null 2>&1 || true
    for daemon in slurmd slurmctld munged; do
        stop_daemon "$daemon"
    done
    rm -f "$directory/slurm.conf"
}

case $command in
start) start ;;
stop) stop ;;
*) fail "there are start and stop, not $command" ;;
esac
