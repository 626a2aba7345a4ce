# SPDX-License-Identifier: BSD-3-Clause
"""One host of the cluster: namespaces, files of its own, and a server that starts programs for `agent`.

Process 1 of the host is that server. A request is one packet on /run/cluster/<name>.socket: the
words of a command and three file descriptors; the answer is the exit code. So each host can be
reached from every other one although none sees the other's processes, and a program that is started
there belongs to that host.
"""
import json
import os
import selectors
import signal
import socket
import sys

import namespaces as ns

SHARED = "/run/cluster"     # the one folder of /run that all hosts see
NETWORKS = ("10.77.0.0", "10.78.0.0")   # of 24 bits; eth0 is in the first, eth1 in the second
LOGIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def exit_code(status):
    """The exit code that a shell would have for this status."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def replace_process(words, environment):
    """exec, with the signals restored that Python changes."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    try:
        os.execvpe(words[0], words, environment)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr, flush=True)
    os._exit(127)


def share_of_cores(number, count):
    """The `count` cores of this host; the hosts take them in turns. All cores for h0, and if count
    is None."""
    cores = sorted(os.sched_getaffinity(0))
    if number == 0 or not count:
        return set(cores)
    return {cores[((number - 1) * count + i) % len(cores)] for i in range(count)}


class Host:
    """A host: name, addresses and what may differ: shm_size, tmp_size (of tmpfs), has_cma,
    cores."""

    def __init__(self, number, options):
        self.number, self.name = number, f"h{number}"
        self.addresses = [f"{network[:-1]}{10 + number}" for network in NETWORKS]
        self.shm_size = options.shm.get(self.name, options.shm.get("", "50%"))
        self.tmp_size = options.tmp.get(self.name, options.tmp.get("", "50%"))
        self.has_cma = self.name not in options.no_cma
        self.cores = share_of_cores(number, options.cores)
        self.pid = None

    def boot(self, shared_folders):
        """Start process 1. The pipe delivers True when all but the network is set up."""
        ready, tell = os.pipe()
        self.pid = ns.fork_first()
        if self.pid == 0:
            self.be_process_1(shared_folders, tell)
        os.close(tell)
        return ready

    def be_process_1(self, shared_folders, tell):
        try:
            ns.unshare(ns.HOST_FLAGS)
            socket.sethostname(self.name)
            self.mount_all(shared_folders)
            self.restrict()
            server = Server(f"{SHARED}/{self.name}.socket")
            os.write(tell, b"1")
            os.close(tell)
            server.run()
        except OSError as error:
            print(f"hosts: {self.name}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(1)

    def restrict(self):
        """Set the cores and forbidden calls of this process and of all that it starts."""
        os.sched_setaffinity(0, self.cores)
        if not self.has_cma:
            ns.deny_cma()

    def mount_all(self, shared_folders):
        shared = os.open(SHARED, os.O_PATH)
        outside = {folder: os.open(folder, os.O_PATH) for folder in shared_folders}
        ns.mount("proc", "/proc", "proc")
        ns.mount("sysfs", "/sys", "sysfs", ns.MS_RDONLY)     # else /sys/class/net has the outer interfaces
        ns.mount("tmpfs", "/run", "tmpfs", data="mode=755")
        os.mkdir(SHARED)
        ns.mount(f"/proc/self/fd/{shared}", SHARED, flags=ns.MS_BIND)
        ns.mount("tmpfs", "/dev/shm", "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, f"mode=1777,size={self.shm_size}")
        ns.mount("tmpfs", "/tmp", "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, f"mode=1777,size={self.tmp_size}")
        for folder, fd in outside.items():
            os.makedirs(folder, exist_ok=True)
            ns.mount(f"/proc/self/fd/{fd}", folder, flags=ns.MS_BIND | ns.MS_REC)
        ns.mount(f"{SHARED}/etc-hosts", "/etc/hosts", flags=ns.MS_BIND)
        self.have_an_identity()

    def have_an_identity(self):
        """Give the host a boot_id and machine-id of its own: some libraries take processes with the
        same boot_id to be on one host."""
        with open("/proc/sys/kernel/random/uuid") as random:
            identity = random.read()
        for path, words in (("/proc/sys/kernel/random/boot_id", identity), ("/etc/machine-id", identity.replace("-", ""))):
            if os.path.exists(path):
                own = f"/run/{os.path.basename(path)}"
                with open(own, "w") as file:
                    file.write(words)
                ns.mount(own, path, flags=ns.MS_BIND)

    def start(self, words, environment, folder="/"):
        """Start a program on the host as a child of this process, in its session and with its
        files. Returns the process."""
        pid = os.fork()
        if pid != 0:
            return pid
        try:
            ns.enter(self.pid, ("pid", "uts", "ipc", "net", "mnt"))
            self.restrict()
            os.chdir(folder)
        except OSError as error:
            print(f"hosts: {self.name}: {error.strerror} {error.filename or ''}", file=sys.stderr, flush=True)
            os._exit(127)
        inside = os.fork()
        if inside == 0:
            replace_process(words, environment)
        os._exit(exit_code(os.waitpid(inside, 0)[1]))

    def run(self, words, environment):
        """Start a program, wait for it, and return its exit code."""
        return exit_code(os.waitpid(self.start(words, environment), 0)[1])


class Server:
    """The server of a host, which takes the place of sshd."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(1024)
        self.clients = {}       # process -> the connection that waits for its exit code
        wake, self.woken = socket.socketpair()
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self.wake = wake

    def run(self):
        with selectors.DefaultSelector() as events:
            events.register(self.listener, selectors.EVENT_READ, self.accept)
            events.register(self.woken, selectors.EVENT_READ, self.reap)
            while True:
                for key, _ in events.select():
                    key.data()

    def accept(self):
        client, _ = self.listener.accept()
        request, files, _, _ = socket.recv_fds(client, 1 << 20, 3)
        for fd in files:
            os.set_inheritable(fd, False)
        if len(files) == 3:
            self.clients[self.start(json.loads(request), files)] = client
        for fd in files:
            os.close(fd)

    def start(self, command, files):
        """Run a shell with a clean environment in the home folder, as a login does."""
        pid = os.fork()
        if pid != 0:
            return pid
        os.setsid()
        for number, fd in enumerate(files):
            os.dup2(fd, number)
        home = os.path.expanduser("~")
        os.chdir(home)
        replace_process(["/bin/sh", "-c", command], {"HOME": home, "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh",
                                                    "PATH": LOGIN_PATH})

    def reap(self):
        """Wait for children that have ended, among them the orphans of this host."""
        self.woken.recv(4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.clients:
                self.answer(self.clients.pop(pid), status)

    @staticmethod
    def answer(client, status):
        """Send the exit code, as ssh does: 255 for a process that a signal has ended. A client may
        be gone."""
        with client:
            try:
                client.send(bytes([255 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)]))
            except OSError:
                pass
