#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kill a process of a job at a random moment, many times: random_kills.py MPIRUN PROGRAM [--hosts a,b,c]

The moment lies in the start, the run or the end of the job; the process is a rank, a PMIx server, mpirun itself or,
on several hosts, a daemon. Afterwards mpirun must have ended in time, with the right exit code and one line that names
what was killed, and no process or file of the job may be left. PROGRAM is busy_rank; it is run in the current folder.

FAULT_SEED chooses alike again (the moments are only as exact as the machine is idle), FAULT_TRIALS=10 does ten times
as many. --strike is this program's own part on another host.
"""
import argparse
import glob
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

RANKS = (4, 16, 64)
TRIALS = {4: 40, 16: 24, 64: 12}    # of each kind of process
BUSY_S = 0.3
END_S = 0.05                      # how long the end of a job takes, about
LIMIT_S = 120
KILL = -signal.SIGKILL
# Lines besides mpirun's: of ranks that find another rank or the PMIx server gone, of the PMIx library, and of the shell
# below which `agent` starts a daemon.
OTHERS = r"weft: (rank \d+: |MPI_Init: the launcher's PMIx server )|\[\S+:\d+\] PMIX ERROR: |Killed$"


# ---- processes ----

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def processes():
    """(pid, name) of those that have not ended."""
    for path in glob.glob("/proc/[0-9]*"):
        if not re.search(rb"^State:\s*Z", read(f"{path}/status"), re.M):
            yield int(path[6:]), read(f"{path}/comm").decode(errors="replace").strip()


def environment(pid):
    entries = read(f"/proc/{pid}/environ").decode(errors="replace").split("\0")
    return dict(e.partition("=")[::2] for e in entries)


def belongs(pid, job):
    """Was the process started in this trial? Daemons have an environment of their own, but a host to themselves."""
    return job is None or environment(pid).get("FAULT_JOB") == job


def find(what, program, job):
    name = {"rank": program, "server": "weft-pmix", "daemon": "weftd"}[what]
    return [pid for pid, its in processes() if its == name and belongs(pid, job)]


def strike(what, program, job, rng):
    """Kill one; returns "PID RANK", with -1 for what is no rank; "" if there is none."""
    found = sorted(find(what, program, job))
    if not found:
        return ""
    pid = rng.choice(found)
    rank = environment(pid).get("PMIX_RANK", "-1") if what == "rank" else "-1"
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return ""
    return f"{pid} {rank}"


# ---- where a job runs ----

class Here:
    """All ranks on this host, which other jobs may use, too."""
    kinds = ("rank", "server", "mpirun")
    options = ()

    def __init__(self, program):
        self.program = program
        self.host = socket.gethostname()

    def strike(self, what, job, rng):
        return strike(what, self.program, job, rng), self.host

    def left(self, job, mpirun):
        names = [f"process {pid} ({name})" for pid, name in processes() if belongs(pid, job)]
        return names + glob.glob(f"{os.environ.get('TMPDIR', '/tmp')}/weft-*") + glob.glob(f"/dev/shm/weft-{mpirun}-*")


class Hosts(Here):
    """The ranks on hosts of test/cluster, which nobody else uses."""
    kinds = ("rank", "server", "daemon", "mpirun")

    def __init__(self, program, hosts):
        super().__init__(program)
        self.hosts = hosts
        self.options = ("--launch-agent", "agent", "-host", ",".join(hosts))

    def strike(self, what, job, rng):
        host = rng.choice(self.hosts)
        words = [sys.executable, os.path.abspath(__file__), "-", self.program, "--strike", what, "--seed", str(rng.random())]
        done = subprocess.run(["agent", host, f"PYTHONDONTWRITEBYTECODE=1 {' '.join(words)}"], capture_output=True, text=True)
        return done.stdout.strip(), host

    def left(self, job, mpirun):
        found = super().left(job, mpirun)
        for host in self.hosts:
            script = (f"grep -lsx -e {self.program} -e weftd -e weft-pmix /proc/[0-9]*/comm; "
                      "ls -d /tmp/weft-* /dev/shm/weft-* 2>/dev/null")
            text = subprocess.run(["agent", host, script], capture_output=True, text=True).stdout
            found += [f"{name} on {host}" for name in text.split()]
        return found


# ---- a trial ----

class Trial:
    def __init__(self, place, mpirun, ranks, what, rng):
        self.place, self.mpirun, self.ranks, self.what, self.rng = place, mpirun, ranks, what, rng
        self.job = f"{os.getpid()}-{rng.getrandbits(32)}"
        self.killed, self.host, self.process = "", "", None

    def start(self):
        for name in ("ending", "out", "err"):
            if os.path.exists(name):
                os.unlink(name)
        command = [self.mpirun, *self.place.options, "-n", str(self.ranks), f"./{self.place.program}", str(BUSY_S),
                   os.path.abspath("ending")]
        with open("out", "wb") as out, open("err", "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=dict(os.environ, FAULT_JOB=self.job))

    def has_ended(self):
        return self.process.poll() is not None

    def wait_for_moment(self, start_s):
        """Choose a moment in the start, the run or the end, and sleep until then."""
        phase = self.rng.choice(("start", "run", "end"))
        delay_s = self.rng.random() * {"start": start_s, "run": BUSY_S, "end": END_S}[phase]
        while phase == "end" and not os.path.exists("ending") and not self.has_ended():
            time.sleep(0.002)
        time.sleep(start_s + delay_s if phase == "run" else delay_s)
        self.moment = f"{phase} + {delay_s:.3f} s"

    def kill(self):
        """Kill as soon as there is something to kill."""
        while self.killed == "" and not self.has_ended():
            if self.what == "mpirun":
                self.process.kill()
                self.killed = f"{self.process.pid} -1"
            else:
                self.killed, self.host = self.place.strike(self.what, self.job, self.rng)

    def run(self, start_s):
        """What is wrong; "" if nothing is."""
        self.start()
        self.wait_for_moment(start_s)
        self.kill()
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"mpirun does not end within {LIMIT_S} s"
        return self.judge(code) or self.look_for_rest()

    def look_for_rest(self):
        """What is left after at most 10 s."""
        until = time.monotonic() + 10
        while (left := self.place.left(self.job, self.process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        return f"left: {', '.join(left)}" if left else ""

    def is_over(self, rank):
        """Had the rank, or with -1 all of them, ended before it was killed, as far as one can see?"""
        over = {int(word) for word in re.findall(rb"^over (\d+)$", read("out"), re.M)}
        return rank in over if rank >= 0 else len(over) == self.ranks

    def judge(self, code):
        said = read("err").decode(errors="replace")
        lines = [its for its in said.splitlines() if not re.match(OTHERS, its)]
        pid, rank = (int(word) for word in (self.killed or "-1 -1").split())
        if code == 0 and (self.killed == "" or self.is_over(rank)):
            return f"mpirun returns 0 and says: {said}" if lines else ""
        if self.what == "mpirun":
            return "" if code == KILL else f"mpirun returns {code}"
        expected, line = self.verdict(pid, rank)
        if code not in expected:
            return f"mpirun returns {code}, not {' or '.join(map(str, expected))}: {said}"
        if len(lines) != 1 or not re.fullmatch(line, lines[0]):
            return f"mpirun says not one line \"{line}\", but: {said}"
        return ""

    def verdict(self, pid, rank):
        """The exit codes that are right, and a pattern for what is said."""
        host = re.escape(self.host)
        if self.what == "rank":
            return (137,), rf"mpirun: rank {rank} \(process {pid} on {host}\) was killed by signal 9.*"
        if self.what == "daemon":
            return (1, 137), rf"mpirun: .*\b{host}\b.*"
        return (1,), "mpirun: .*PMIx server.*"


def duration(place, mpirun, ranks):
    """How long an undisturbed job takes."""
    trial = Trial(place, mpirun, ranks, "rank", random.Random(0))
    began = time.monotonic()
    trial.start()
    if trial.process.wait(LIMIT_S) != 0:
        sys.exit(f"an undisturbed job of {ranks} ranks fails: {read('err').decode(errors='replace')}")
    return time.monotonic() - began


def run_all(place, options):
    failures = 0
    for ranks in RANKS:
        start_s = max(0.05, duration(place, options.mpirun, ranks) - BUSY_S - END_S)
        count = max(1, round(TRIALS[ranks] * options.trials))
        began = time.monotonic()
        for what in place.kinds:
            for number in range(count):
                rng = random.Random(f"{options.seed} {ranks} {what} {number}")
                trial = Trial(place, options.mpirun, ranks, what, rng)
                wrong = trial.run(start_s)
                if wrong:
                    failures += 1
                    print(f"FAILED: {ranks} ranks, {what} number {number} ({trial.killed or 'nothing'} on "
                          f"{trial.host or 'this host'} killed at {trial.moment}): {wrong[:2000]}", flush=True)
        print(f"{ranks} ranks, {count} times each: {', '.join(place.kinds)}: {time.monotonic() - began:.0f} s", flush=True)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpirun")
    parser.add_argument("program")
    parser.add_argument("--hosts")
    parser.add_argument("--strike")
    parser.add_argument("--seed", default=os.environ.get("FAULT_SEED", "1"))
    parser.add_argument("--trials", type=float, default=float(os.environ.get("FAULT_TRIALS", "1")))
    options = parser.parse_args()
    if options.strike:
        print(strike(options.strike, options.program, None, random.Random(options.seed)))
        return 0
    place = Hosts(options.program, options.hosts.split(",")) if options.hosts else Here(options.program)
    return run_all(place, options)


sys.exit(main())
