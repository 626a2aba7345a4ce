# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are lost and started again, one in each round: the others get weft.RankLost wherever they are, call weft.rejoin(), and
all have a group of the full size. Run by mpirun --enable-recovery --max-restarts ROUNDS; rank 0 says how many rounds there were."""
import os
import signal

import expect
import torch
import torch.distributed as dist
import weft

restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
rank, size = expect.begin()
world = [int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def check_group(what):
    """All ranks are there, with the numbers of the start; groups can be made."""
    expect.equal([dist.get_rank(), dist.get_world_size()], world, f"{what}: rank and size")
    total = torch.full((3,), float(rank))
    dist.all_reduce(total)
    expect.equal(total, torch.full((3,), float(size * (size - 1) // 2)), f"{what}: a sum")
    part = dist.new_group(list(range(1, size)))
    if rank > 0:
        dist.barrier(part)


# ---- what the others do while the victim of a round dies ----

def in_all_reduce(others):
    while True:
        dist.all_reduce(torch.ones(8))


def with_receives_left(others):
    """What is pending among those that live, with a future or without, keeps none of them in the old group."""
    for peer in members:
        if peer != rank:
            left.extend(dist.irecv(torch.ones(2), peer, group=others, tag=tag) for tag in (7, 8))
            left[-1].get_future()
    in_all_reduce(others)


def in_a_group_of_the_others(others):
    """The first of them alone sees the loss; the others wait for it, and know of nothing else."""
    if rank == members[0]:
        dist.recv(torch.ones(1))
    dist.recv(torch.ones(1), members[0], group=others)
    dist.barrier()


def in_new_group(others):
    while True:
        dist.new_group()


def in_agreement(others):
    expect.equal(weft.agree(), True, "an agreement of ranks of which one has died")


rounds = [(in_all_reduce, "all_reduce"), (with_receives_left, "receives left"), (in_a_group_of_the_others, "a group of the others"),
          (in_new_group, "new_group"), (in_agreement, "agree")]


def play(number):
    """Victims take turns, rank 0 first; those left go on with the next round, and tell the new one its number."""
    action, what = rounds[number]
    victim = number % size
    members[:] = [each for each in range(size) if each != victim]
    others = dist.new_group(members)
    dist.barrier()
    if rank == victim:
        die()
    err = expect.raises(weft.RankLost, ["lost ranks of the group"], lambda: action(others), what)
    expect.equal(set(err.ranks) <= set(range(size)), True, f"{what}: lost ranks {err.ranks}")
    weft.rejoin()


members, left = [], []
number = 0
while True:
    done = torch.tensor(number)
    dist.all_reduce(done, dist.ReduceOp.MAX)  # a new process counts from 0
    number = int(done)
    check_group(f"round {number}")
    expect.equal(weft.agree(), True, "all agree")
    expect.equal(weft.agree(rank != 1), size == 1, "rank 1 does not agree")
    if number == len(rounds):
        break
    play(number)
    number += 1
expect.equal(restarts, len(range(rank, len(rounds), size)), "restarts of this rank")
if rank == 0:
    print(f"{number} rounds")
dist.destroy_process_group()
