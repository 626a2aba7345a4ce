# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline: each rank is a stage, and works on one micro-batch while it receives the next.

    torchrun --standalone --nproc-per-node=4 pipeline.py [weft | gloo]
    mpirun -np 4 python pipeline.py
"""
import sys

import torch
import torch.distributed as dist

BATCHES = 8

dist.init_process_group(backend=sys.argv[1] if len(sys.argv) > 1 else "weft")
rank, size = dist.get_rank(), dist.get_world_size()


def stage(x, number):
    return x * 2 + number


def exchange(to_send, to_fill):
    """Send to the next stage while receiving from the one before."""
    ops = []
    if to_send is not None and rank + 1 < size:
        ops.append(dist.P2POp(dist.isend, to_send, rank + 1))
    if to_fill is not None and rank > 0:
        ops.append(dist.P2POp(dist.irecv, to_fill, rank - 1))
    return dist.batch_isend_irecv(ops) if ops else []


results, done = [], None
incoming = torch.zeros(1000)
for batch in range(BATCHES + 1):
    fill = torch.zeros(1000) if batch < BATCHES else None
    if rank == 0 and fill is not None:
        fill += batch
    for request in exchange(done, fill):
        request.wait()
    done = stage(fill, rank) if fill is not None else None
    if done is not None:
        results.append(done)

expected = []
for batch in range(BATCHES):
    x = torch.full((1000,), float(batch))
    for number in range(rank + 1):
        x = stage(x, number)
    expected.append(x)
correct = torch.tensor([float(all(torch.equal(a, b) for a, b in zip(results, expected)))])
dist.all_reduce(correct, dist.ReduceOp.MIN)
if rank == 0:
    print(f"{BATCHES} batches through {size} stages: {'correct' if correct.item() else 'wrong'}")
dist.destroy_process_group()
sys.exit(0 if correct.item() else 1)
