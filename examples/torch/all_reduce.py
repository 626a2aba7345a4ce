# SPDX-License-Identifier: BSD-3-Clause
"""The sum of a number from each rank.

    torchrun --standalone --nproc-per-node=4 all_reduce.py [weft | gloo]
    mpirun -np 4 python all_reduce.py
"""
import sys

import torch
import torch.distributed as dist

dist.init_process_group(backend=sys.argv[1] if len(sys.argv) > 1 else "weft")
rank, size = dist.get_rank(), dist.get_world_size()

x = torch.full((3,), rank + 1.0)
dist.all_reduce(x)
mean = torch.full((3,), rank + 1.0)
work = dist.all_reduce(mean, async_op=True)  # goes on while this rank computes
work.wait()
mean /= size

expected = size * (size + 1) / 2
correct = torch.all(x == expected) and torch.all(mean == expected / size)
if rank == 0:
    print(f"the sum is {x[0]:g}, the mean {mean[0]:g}: {'correct' if correct else 'wrong'}")
dist.destroy_process_group()
sys.exit(0 if correct else 1)
