# SPDX-License-Identifier: BSD-3-Clause
"""Going on without ranks that are lost, with WEFT_RECOVERY=yes, or with those that are started again,
with WEFT_REJOIN=yes."""
import os
import re
import socket
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

import torch.distributed as dist
import weft
from torch.distributed.constants import default_pg_timeout

# A rank that cannot reach the new store within this time has most likely lost rank 0.
CONNECT_S = 15

LOST = re.compile(r"lost ranks of the group: ([\d, ]+)$", re.MULTILINE)


class RankLost(dist.DistBackendError):
    """An operation has failed because a rank of its group is lost. weft.recover() goes on without it, and
    weft.rejoin() with the process that is started in its place."""

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


def rejoin():
    """Make a new default group of all ranks of the job, those that were started again too.

    All ranks that live call it, after an operation has raised RankLost; those that wait in an operation of any
    group get RankLost by it. The new processes call init_process_group("weft"). All groups are destroyed; ranks
    and size are those of the start. It returns when all ranks are there.
    """
    from weft import _C

    if not _C.ranks_come_again():
        raise RuntimeError("weft.rejoin: lost ranks are not started again in this job; "
                           "mpirun --enable-recovery --max-restarts N does it")
    timeout = weft.backend_of().options._timeout
    _C.revoke_all()
    dist.destroy_process_group()
    if _C.mpi_runs():
        raise RuntimeError("weft.rejoin: operations of earlier groups are still under way, so that MPI cannot end")
    dist.init_process_group("weft", timeout=timeout)


def agree(good=True, group=None):
    """Whether all ranks of a group, by default of the default group, call it with `good` true. Collective.

    Either all of them return, and the same, or all raise RankLost, as some rank of the group is lost. So it tells
    them alike whether they have all come to the end of their work.
    """
    return weft.backend_of(group).agree(good)


def take_over_rendezvous():
    """Where ranks come again, init_method="env://" gets its store from those that have met in MPI: MASTER_PORT is
    where these meet, and a store there would go with rank 0."""
    from torch.distributed import rendezvous  # the function; its module has the table of handlers

    handlers = rendezvous.__globals__["_rendezvous_handlers"]
    original = handlers["env"]

    def rendezvous_of_all(url, timeout=default_pg_timeout, **options):
        if _is_for_all(url):
            return _meet_all(timeout)
        return original(url, timeout=timeout, **options)

    handlers["env"] = rendezvous_of_all


def _is_for_all(url):
    """Not if the program gives another rank or size than the launcher."""
    from weft import _C

    if not _C.ranks_come_again():
        return False
    query = parse_qs(urlparse(url).query)
    return all(name in os.environ and query.get(key, [os.environ[name]])[-1] == os.environ[name]
               for key, name in (("rank", "RANK"), ("world_size", "WORLD_SIZE")))


def _meet_all(timeout):
    """As torch's handlers do, yields store, rank and size. A rank that dies before all have the store is started
    again, and all begin anew with it."""
    from weft import _C

    store = None
    while store is None:
        try:
            reunion = _C.Reunion()
        except RankLost:
            continue
        store = _store_of_all(reunion, timeout)
    weft._show_report_again()
    yield store, reunion.rank, reunion.size  # torch makes the group before it drops this, which holds MPI
    raise RuntimeError("weft: the ranks of env:// cannot meet again without a new group")


def _store_of_all(reunion, timeout):
    """None: a rank was lost, and this one has left MPI."""
    store, failure = None, None
    try:
        try:
            store = _new_store(reunion, reunion.rank, reunion.size, timedelta(seconds=CONNECT_S))
        except dist.DistError as error:
            failure = error
        if reunion.agree(store is not None):
            store.set_timeout(timeout)
            return store
    except RankLost:
        reunion.end()
        return None
    raise failure or RuntimeError("weft: init_process_group: another rank cannot reach the store of rank 0")


def _new_store(meeting, rank, size, timeout):
    """The store of the old group may have gone with its rank 0: the new rank 0 has a new one."""
    if rank != 0:
        host, port = meeting.share("").split()
        return dist.TCPStore(host, int(port), size, False, timeout)
    host = _own_address()
    store = dist.TCPStore(host, 0, size, True, timeout, wait_for_workers=False)
    meeting.share(f"{host} {store.port}")
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
