# SPDX-License-Identifier: BSD-3-Clause
"""A job with a time limit, and what is to be known of the machine: for compare and gpu-run."""
import collections
import os
import platform
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def say(text):
    print(text, file=sys.stderr, flush=True)


# status: ok, failed or timeout; of one stopped for the time limit, what it has written until then.
Ended = collections.namedtuple("Ended", "status code output errors wall_s")


def attempt(command, environment, limit_s):
    """Run a job; nothing of it is left behind."""
    started = time.monotonic()
    job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        output, errors = job.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Ended("timeout", None, *stop(job), limit_s)
    return Ended("failed" if job.returncode else "ok", job.returncode, output, errors, time.monotonic() - started)


def stop(job):
    """Ask first, so that the launcher can end its ranks. What the job has written."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(job.pid, number)
            return job.communicate(timeout=5)
        except ProcessLookupError:
            return "", ""
        except subprocess.TimeoutExpired:
            continue
    return "", ""


def run(command, environment, limit_s):
    """(status, output, seconds); a job that failed has its last words said."""
    ended = attempt(command, environment, limit_s)
    if ended.status == "failed":
        say("  " + (ended.errors.strip().splitlines() or [f"exit code {ended.code}"])[-1])
    return ended.status, ended.output, ended.wall_s


def first_match(path, pattern):
    try:
        with open(path) as text:
            match = re.search(pattern, text.read(), re.M)
    except OSError:
        return ""
    return match.group(1).strip().strip('"') if match else ""


def machine():
    """Nothing in it says whose machine it is."""
    return {"cpu": first_match("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine(),
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
