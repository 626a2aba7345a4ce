# SPDX-License-Identifier: BSD-3-Clause
"""The system calls behind the hosts of `hosts`: Python has no names for them before 3.12."""
import ctypes
import os
import platform
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
HOST_FLAGS = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET   # beside process ids

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 22, 2

# Machine -> AUDIT_ARCH, and the numbers of process_vm_readv and process_vm_writev
CMA_CALLS = {"x86_64": (0xC000003E, 310, 311), "aarch64": (0xC00000B7, 270, 271)}

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A function of libc that returns -1 and sets errno."""
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def text(string):
    return None if string is None else os.fsencode(string)


def mount(source, target, kind=None, flags=0, data=None):
    try:
        call("mount", text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))
    except OSError as error:
        raise OSError(error.errno, f"mount {kind or source} on {target}: {os.strerror(error.errno)}") from None


def unshare(flags):
    call("unshare", flags)


def enter(pid, kinds):
    """Join namespaces of a process: mnt, net, ... as in /proc/PID/ns."""
    opened = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]
    for fd in opened:
        call("setns", fd, 0)
        os.close(fd)


def fork_first():
    """fork; the child is process 1 of a new process-id namespace."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    unshare(CLONE_NEWPID)
    pid = os.fork()
    if pid != 0:
        call("setns", own, CLONE_NEWPID)
    os.close(own)
    return pid


def die_with_parent():
    call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(9))


def deny_cma():
    """Makes process_vm_readv and process_vm_writev return EPERM here and in all children, as in
    many containers."""
    arch, read, write = CMA_CALLS[platform.machine()]
    load, equal, end = 0x20, 0x15, 0x06         # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    allow, refuse = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO with EPERM
    program = [(load, 0, 0, 4), (equal, 0, 3, arch), (load, 0, 0, 0), (equal, 2, 0, read), (equal, 1, 0, write),
               (end, 0, 0, allow), (end, 0, 0, refuse)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    call("prctl", PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), head)
