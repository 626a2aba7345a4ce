# SPDX-License-Identifier: BSD-3-Clause
"""What there is on a machine with a GPU, and what the first jobs say: the first stage of gpu-run, some seconds. Nothing in it
identifies the machine."""
import ctypes
import glob
import os
import platform
import re
import resource
import shutil
import signal
import socket
import subprocess

MOST_CHARACTERS = 8000
# Lines of nvidia-smi -q that say nothing, or name this very card.
NOT_WANTED = re.compile(r": (N/A|None|0|0 MiB|Not Active|Requested functionality.*)$|Serial|UUID|Part Number|Board ID|GUID|Timestamp|Chassis|Slot|Tray|Module")
TOOLS = ("nvcc", "cuobjdump", "compute-sanitizer", "ncu", "nsys", "cuda-gdb", "gdb", "py-spy", "gcc", "g++", "make", "nvidia-cuda-mps-control",
         "nvidia-cuda-mps-server", "docker", "systemd-detect-virt")
LIMITS = ("NOFILE", "MEMLOCK", "NPROC", "STACK", "AS", "CORE", "SIGPENDING")
FIRST_JOB = ["allreduce", "-d", "cuda", "-s", "8,1M", "-i", "100", "-c"]


def output(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=15)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    return done.stdout.strip()


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        return error.strerror


def card():
    """The lines of nvidia-smi -q with a value, and the heads right above them."""
    lines = [line for line in output("nvidia-smi", "-q").splitlines() if line and not NOT_WANTED.search(line)]
    return "\n".join(line for i, line in enumerate(lines) if " : " in line or " : " in "".join(lines[i + 1:i + 2]))


def system():
    status = re.findall(r"^(?:Seccomp\w*|NoNewPrivs|CapEff|CapBnd|Cpus_allowed_list|Mems_allowed_list):.*$", read("/proc/self/status"), re.M)
    kernel_log = output("dmesg").splitlines()
    marks = [path for path in ("/.dockerenv", "/run/.containerenv", "/dev/kvm", "/dev/gdrdrv", "/dev/infiniband", "/dev/nvidia-caps") if os.path.exists(path)]
    return "\n".join([f"{platform.system()} {platform.release()} {platform.version()} {platform.machine()}, libc {platform.libc_ver()[1]}",
                      f"kernel log: {'; '.join(kernel_log[:2])}", f"is gVisor: {any('gVisor' in line for line in kernel_log)}",
                      *status, f"cgroup: {read('/proc/1/cgroup')}", f"there are: {' '.join(marks)}",
                      f"ptrace_scope: {read('/proc/sys/kernel/yama/ptrace_scope')}",
                      f"overcommit: {read('/proc/sys/vm/overcommit_memory')}", *free_memory(),
                      "limits: " + ", ".join(f"{name} {resource.getrlimit(getattr(resource, 'RLIMIT_' + name))}" for name in LIMITS)])


def free_memory():
    for path in ("/dev/shm", "/tmp"):
        try:
            room = os.statvfs(path)
            yield f"{path}: {room.f_frsize * room.f_bavail >> 20} of {room.f_frsize * room.f_blocks >> 20} MiB free"
        except OSError as error:
            yield f"{path}: {error.strerror}"


class Area(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def verdict(result):
    return "works" if result >= 0 else os.strerror(ctypes.get_errno())


def system_calls():
    """Whether a process may take a descriptor of its child, and read its memory."""
    libc, (reading, writing) = ctypes.CDLL(None, use_errno=True), os.pipe()
    pidfd_open, pidfd_getfd = 434, 438      # on x86-64 and aarch64
    memory = ctypes.create_string_buffer(8)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        descriptor = libc.syscall(pidfd_open, child, 0)
        words = [f"pidfd_open: {verdict(descriptor)}", f"pidfd_getfd of a child: {verdict(libc.syscall(pidfd_getfd, descriptor, reading, 0))}"]
        area = Area(ctypes.addressof(memory), 8)
        count = libc.process_vm_readv(child, ctypes.byref(area), ctypes.c_ulong(1), ctypes.byref(area), ctypes.c_ulong(1), ctypes.c_ulong(0))
        return "\n".join([*words, f"process_vm_readv of a child: {verdict(count)}"])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def driver(place):
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if re.match("CUDA_|NVIDIA_|WEFT_", name))
    found = place.command(["ldd", *glob.glob(f"{place.tests}/simcuda/tests/memory_test")], 10).output
    return "\n".join([output("sh", "-c", "ls -l /dev/nvidia*"), read("/proc/driver/nvidia/version"),
                      "libcuda by ldconfig: " + " ".join(re.findall(r"\S*libcuda\.so\S* .*", output("ldconfig", "-p"))),
                      "libcuda of the tests: " + " ".join(re.findall(r"libcuda.*", found)), "variables: " + " ".join(variables),
                      "MPS: " + ("pipes in " + mps_pipes() if mps_pipes() else "not running, or not here")])


def mps_pipes():
    """The folder of a running MPS server's pipes, or ""."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return folder if os.path.exists(f"{folder}/control") else ""


def tools():
    path = os.environ.get("PATH", "") + ":/usr/local/cuda/bin:/usr/local/nvidia/bin"
    return "\n".join(f"{name}: {shutil.which(name, path=path) or 'none'}" for name in TOOLS)


def weft_info(place):
    ended = place.command([place.info, "--cuda"], 30)
    return ended.output + ended.errors


def job(place, words, settings):
    ended = place.command([place.mpirun, *words, "-np", "2", f"{place.benchmarks}/weft_coll", *FIRST_JOB], 60, settings)
    return f"{ended.status}, {ended.wall_s:.1f} s\n{ended.output}{ended.errors}"


def without_names(text, place):
    """The text without the machine's name and the card's number."""
    for name, instead in ((socket.gethostname(), "host"), (os.path.dirname(place.benchmarks), "PLACE"), (os.path.expanduser("~"), "~")):
        text = re.sub(rf"(?<![\w/]){re.escape(name)}(?!\w)", instead, text) if len(name) > 1 else text
    return re.sub(r"GPU-[0-9a-f]{8}-[0-9a-f-]{27}", "GPU-(UUID)", text)


def gather(place):
    """[{"fact", "text"}]; what cannot be found out says why."""
    ways = {"nvidia-smi -q": card, "system": system, "system calls": system_calls, "driver": lambda: driver(place), "tools": tools,
            "weft_info --cuda": lambda: weft_info(place),
            "first job, WEFT_LOG=info": lambda: job(place, [], {"WEFT_LOG": "info"}),
            "first job, mpirun --report": lambda: job(place, ["--report"], {})}
    facts = []
    for name, way in ways.items():
        try:
            text = way()
        except Exception as error:      # the other facts are worth having
            text = repr(error)
        facts.append({"fact": name, "text": without_names(text, place).strip()[-MOST_CHARACTERS:]})
    return facts
