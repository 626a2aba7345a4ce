# SPDX-License-Identifier: BSD-3-Clause
"""Going on without ranks that are lost, with WEFT_RECOVERY=yes."""
import os
import re
import socket

import torch.distributed as dist
import weft

LOST = re.compile(r"lost ranks of the group: ([\d, ]+)$", re.MULTILINE)


class RankLost(dist.DistBackendError):
    """An operation has failed because a rank of its group is lost. weft.recover() goes on without it."""

    @property
    def ranks(self):
        """The ranks of the group that are known to be lost, in the order in which this rank has learnt of them.
        Empty: another rank has seen a loss and called recover(), and this one knows no more yet."""
        found = LOST.search(str(self))
        return [int(word) for word in found[1].split(",")] if found else []


def recover(group=None):
    """Make those that are left of a group, by default of the default group, the new default group.

    All of them call it, after an operation has raised RankLost; those that wait in an operation of the group get
    RankLost by it. All groups are destroyed; the new ranks have the order of the old ones. Returns the old ranks
    of those that are left, by new rank.
    """
    found = weft.backend_of(group)
    from weft import _C

    recovery = _C.Recovery(found)
    timeout, rank, size = found.options._timeout, recovery.rank, len(recovery.survivors)
    store = _new_store(recovery, rank, size, timeout)
    dist.destroy_process_group()
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group("weft", store=store, rank=rank, world_size=size, timeout=timeout)
    return recovery.survivors


def _new_store(recovery, rank, size, timeout):
    """The store of the old group may have gone with its rank 0: the new rank 0 has a new one."""
    if rank != 0:
        host, port = recovery.share("").split()
        return dist.TCPStore(host, int(port), size, False, timeout)
    host = _own_address()
    store = dist.TCPStore(host, 0, size, True, timeout, wait_for_workers=False)
    recovery.share(f"{host} {store.port}")
    return store


def _own_address():
    """Of this host, as the others reach it: the one from which it reaches the host of the first store."""
    master = os.environ.get("MASTER_ADDR", "")
    try:
        family, kind, _, _, address = socket.getaddrinfo(master, 1, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return probe.getsockname()[0]
    except OSError:
        return socket.gethostname()
