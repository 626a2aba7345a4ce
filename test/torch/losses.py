# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are lost, one after another, in all kinds of operations, until one is left: the others get weft.RankLost, call
weft.recover() and go on. Run with WEFT_RECOVERY=yes; rank 0 of those that are left prints how many it has lost."""
import os
import signal

import expect
import torch
import torch.distributed as dist
import weft
from torch.nn.parallel import DistributedDataParallel

first_rank, first_size = expect.begin()
losses = 0


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def lose(victim, action, name, knows=True):
    """Rank `victim` is killed, and the others do `action` until it fails. Those left have their order and go on."""
    global losses
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.barrier()
    if rank == victim:
        die()
    err = expect.raises(weft.RankLost, ["lost ranks of the group"], lambda: repeat(action), name)
    expect.equal(isinstance(err, dist.DistBackendError), True, f"{name}: the class of the error")
    expect.equal(set(err.ranks) <= {victim}, True, f"{name}: lost ranks {err.ranks}")
    left = weft.recover()
    losses += 1
    expected = [each for each in range(size) if each != victim]
    expect.equal(left, expected, f"{name}: old ranks")
    expect.equal((dist.get_rank(), dist.get_world_size()), (expected.index(rank), size - 1), f"{name}: new rank")
    total = torch.ones(3)
    dist.all_reduce(total)
    expect.equal(total, torch.full((3,), float(size - 1)), f"{name}: a sum afterwards")
    group = dist.new_group([0])
    if dist.get_rank() == 0:
        dist.barrier(group)


def repeat(action):
    """Messages of the one that dies may still come."""
    while True:
        action()


def in_a_ring():
    rank, size = dist.get_rank(), dist.get_world_size()
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), (rank + 1) % size),
                                    dist.P2POp(dist.irecv, torch.ones(2), (rank - 1) % size)])
    for work in works:
        work.wait()


def by_future():
    dist.all_reduce(torch.ones(100000), async_op=True).get_future().wait()


def in_training():
    model = DistributedDataParallel(torch.nn.Linear(5, 3))
    while True:
        model(torch.ones(2, 5)).sum().backward()


ways = [(lambda: dist.all_reduce(torch.ones(8)), "all_reduce"),
        (lambda: dist.all_reduce(torch.ones(8), async_op=True).wait(), "a work of all_reduce"),
        (in_training, "training"), (in_a_ring, "a ring"), (by_future, "a future"), (dist.monitored_barrier, "monitored_barrier")]
for action, name in ways[first_size % 2 * 2:]:
    size = dist.get_world_size()
    if size == 1:
        break
    lose(0 if losses % 2 == 0 else size - 1, action, name)
expect.raises(RuntimeError, ["lost ranks are not started again", "--max-restarts"], weft.rejoin, "rejoin")
expect.equal(weft.agree(), True, "those that are left agree")
if dist.get_rank() == 0:
    print(f"{losses} lost, {dist.get_world_size()} left")
dist.destroy_process_group()
