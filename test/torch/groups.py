# SPDX-License-Identifier: BSD-3-Clause
"""Groups of some ranks, in any order; groups that are split; the whole again and again; options."""
from datetime import timedelta

import expect
import torch
import torch.distributed as dist
import weft

rank, size = expect.begin()


def check_subgroups():
    for r in range(size):
        group = dist.new_group(list(range(r + 1)))
        if rank <= r:
            x = torch.ones(3)
            dist.all_reduce(x, group=group)
            expect.equal(x, torch.full((3,), r + 1.0), f"all_reduce of ranks 0 to {r}")


def check_pairs():
    """Groups that only their members make: from here on torch counts groups differently at each rank."""
    pair = [rank // 2 * 2, rank // 2 * 2 + 1]
    if pair[1] < size:
        group = dist.new_group(pair, use_local_synchronization=True)
        x = torch.full((2,), float(rank))
        dist.broadcast(x, pair[1], group=group)
        expect.equal(x, torch.full((2,), float(pair[1])), "broadcast in a pair")


def check_order():
    group = dist.new_group(list(reversed(range(size))), sort_ranks=False)
    expect.equal(dist.get_rank(group), size - 1 - rank, "the rank in a group in reverse order")
    out = [torch.zeros(1) for _ in range(size)]
    dist.all_gather(out, torch.tensor([float(rank)]), group=group)
    expect.equal(torch.cat(out), torch.arange(size - 1.0, -1, -1), "all_gather in reverse order")


def check_split():
    halves = [list(range(0, size, 2)), list(range(1, size, 2))]
    group = dist.split_group(split_ranks=[half for half in halves if half])
    x = torch.full((2,), float(rank))
    dist.all_reduce(x, group=group)
    expect.equal(x, torch.full((2,), float(sum(halves[rank % 2]))), "all_reduce in a half")


def check_options():
    options = weft.ProcessGroupWeft.Options(timeout=timedelta(seconds=33))
    group = dist.new_group(pg_options=options)
    backend = group._get_backend(torch.device("cpu"))
    expect.equal(backend.options._timeout, timedelta(seconds=33), "the timeout of the options")
    expect.equal(dist.get_backend(group), "weft", "the name of the back end")
    expect.raises(TypeError, ["weft.ProcessGroupWeft.Options"],
                  lambda: dist.new_group(pg_options=object()), "other options")


def check_again():
    """Always through one store: MASTER_PORT may still be that of the store before."""
    store = dist.distributed_c10d._get_default_store()
    dist.destroy_process_group()
    for i in range(3):
        dist.init_process_group(backend="weft", timeout=expect.TIMEOUT, store=store, rank=rank,
                                world_size=size)
        x = torch.full((4,), float(i))
        dist.all_reduce(x)
        expect.equal(x, torch.full((4,), float(i * size)), f"all_reduce of the {i}th group")
        if i == 1:
            check_subgroups()
        dist.destroy_process_group()


    return store


def check_gloo_beside(store):
    store = dist.PrefixStore("beside", store)
    dist.init_process_group(backend="gloo", store=store, rank=rank, world_size=size)
    group = dist.new_group(backend="weft")
    x = torch.ones(2)
    dist.all_reduce(x)
    dist.all_reduce(x, group=group)
    expect.equal(x, torch.full((2,), float(size * size)), "gloo and weft")
    dist.destroy_process_group()


check_subgroups()
check_order()
check_split()
check_options()
check_pairs()
check_gloo_beside(check_again())
