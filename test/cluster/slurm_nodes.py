# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on the hosts of the cluster: slurmctld on h0, slurmd on the others, munged on all.

All its files lie in /run, of which each host has its own, so that paths are short (sockets: 107
characters) and equal.
"""
import glob
import os
import shutil
import subprocess
import sys
import time

from one_host import SHARED

CONF = f"{SHARED}/slurm.conf"
PROGRAMS = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client"}
PATIENCE_S = 20

# As in slurm-one-host.sh: more slots than cores, no cgroups, no waiting.
SETTINGS = """\
ClusterName=weft
SlurmctldHost=h0(10.77.0.10)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/run/cluster/slurmctld.log
SlurmdLogFile=/run/cluster/slurmd-%h.log
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
"""


def missing():
    """The packages of missing programs, or ""."""
    lacking = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    return f"Slurm is not complete: packages {' '.join(lacking)}" if lacking else ""


def configure(nodes, slots):
    with open(f"{SHARED}/munge.key", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
        key.write(os.urandom(64))
    with open(CONF, "w") as conf:
        conf.write(SETTINGS)
        for node, count in zip(nodes, slots):
            conf.write(f"NodeName={node.name} Sockets=1 CoresPerSocket={count} ThreadsPerCore=1 RealMemory=1000\n")
        conf.write(f"PartitionName=p Nodes={','.join(n.name for n in nodes)} Default=YES MaxTime=INFINITE State=UP\n")
    with open(f"{SHARED}/cgroup.conf", "w") as conf:
        conf.write("CgroupPlugin=cgroup/v1\n")      # other plugins need a cgroup file system
    with open(f"{SHARED}/mpi.conf", "w") as conf:
        conf.write("PMIxCliTmpDirBase=/tmp\n")


def start_all(hosts, command, environment):
    """Start the same daemon on several hosts at once; each runs in the background when this
    returns."""
    waiting = [(host, host.start(["sh", "-c", f"umask 022; exec 1>>{SHARED}/start.log 2>&1; {command}"], environment))
               for host in hosts]
    for host, pid in waiting:
        if os.waitpid(pid, 0)[1] != 0:
            give_up(f"{command.split()[-1]} does not start on {host.name}")


def give_up(why):
    for log in sorted(glob.glob(f"{SHARED}/*.log")):
        with open(log) as lines:
            sys.stderr.writelines([f"{os.path.basename(log)}: {line}" for line in lines.readlines()[-5:]])
    sys.exit(f"hosts: {why}")


def wait_until_idle(login, count, environment):
    states = f"{SHARED}/states"
    query = ["sh", "-c", f"timeout 5 sinfo -h -N -o %T >{states} 2>/dev/null"]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        login.run(query, environment)
        with open(states) as lines:
            if [line.strip() for line in lines] == ["idle"] * count:
                return
        if time.monotonic() > deadline:
            give_up(f"the Slurm nodes are not idle after {PATIENCE_S} s")
        time.sleep(0.02)


def start(hosts, slots, environment):
    """hosts[0] is the login host; slots has a number for each of the others. environment gets SLURM_CONF."""
    nodes = hosts[1:]
    configure(nodes, slots)
    environment["SLURM_CONF"] = CONF
    start_all(hosts, "mkdir -p /run/munge /run/slurm/state /run/slurm/spool && munged --force --num-threads=1 "
              f"--key-file={SHARED}/munge.key --seed-file=/run/munge/seed --log-file=/run/munge/munged.log", environment)
    start_all(hosts[:1], "slurmctld -c", environment)
    start_all(nodes, "slurmd", environment)
    wait_until_idle(hosts[0], len(nodes), environment)
