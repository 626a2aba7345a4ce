# SPDX-License-Identifier: BSD-3-Clause
"""Runs a job with a time limit, and describes the machine: for compare and gpu-run."""
import collections
import contextlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def packed_pmix(folder):
    """The environment for a packed PMIx. It also looks at plugins where it was built for; those of another version there do not load,
    which it would tell at each start."""
    return {"PMIX_INSTALL_PREFIX": folder, "PMIX_MCA_mca_base_component_show_load_errors": "0"}


def say(text):
    print(text, file=sys.stderr, flush=True)


# status: ok, failed or timeout. After a timeout, output and errors hold what the job had written.
Ended = collections.namedtuple("Ended", "status code output errors wall_s")


def attempt(command, environment, limit_s):
    """Run a job; no process of it is left behind."""
    started = time.monotonic()
    job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        output, errors = job.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Ended("timeout", None, *stop(job), limit_s)
    return Ended("failed" if job.returncode else "ok", job.returncode, output, errors, time.monotonic() - started)


def stop(job):
    """Send SIGTERM first, so that the launcher can end its ranks. Returns what the job has
    written."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(job.pid, number)
            return job.communicate(timeout=5)
        except ProcessLookupError:
            return "", ""
        except subprocess.TimeoutExpired:
            continue
    return "", ""


@contextlib.contextmanager
def strangers(count):
    """Beside so many processes that compute, as those of other users would."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for stranger in started:
            stranger.kill()
            stranger.wait()


def run(command, environment, limit_s):
    """(status, output, seconds). Prints the last line on stderr of a job that failed."""
    ended = attempt(command, environment, limit_s)
    if ended.status == "failed":
        say("  " + (ended.errors.strip().splitlines() or [f"exit code {ended.code}"])[-1])
    return ended.status, ended.output, ended.wall_s


def measured(output):
    """What a program has printed for each size: {"bytes": 8, "value": 0.2, ...}."""
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"bytes"')]


def first_match(path, pattern):
    try:
        with open(path) as text:
            match = re.search(pattern, text.read(), re.M)
    except OSError:
        return ""
    return match.group(1).strip().strip('"') if match else ""


def machine():
    """The machine's properties, without a name that would identify it."""
    cpu = first_match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine()
    family, model = (first_match("/proc/cpuinfo", rf"^{key}\s*:\s*(\d+)$") for key in ("cpu family", "model"))
    return {"cpu": f"{cpu} (family {family}, model {model})" if family else cpu,
            "cores": len(os.sched_getaffinity(0)),
            "is_virtual": bool(re.search(r"\bhypervisor\b", first_match("/proc/cpuinfo", r"^flags\s*:\s*(.*)$"))),
            "memory_GiB": round(int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)") or 0) / 1048576),
            "kernel": platform.release(), "system": first_match("/etc/os-release", r"^PRETTY_NAME=(.*)$")}


def commit():
    try:
        done = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
