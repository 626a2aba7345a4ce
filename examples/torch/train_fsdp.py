# SPDX-License-Identifier: BSD-3-Clause
"""Fully sharded training: each rank holds a part of the parameters.

    torchrun --standalone --nproc-per-node=4 train_fsdp.py [weft | gloo]
    mpirun -np 4 python train_fsdp.py
"""
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group(backend=sys.argv[1] if len(sys.argv) > 1 else "weft")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
data = torch.randn(64, 10)
target = data.sum(1, keepdim=True).sin()
model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

losses = []
for step in range(200):
    optimizer.zero_grad()
    loss = (model(data[rank::size]) - target[rank::size]).square().mean()
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    losses.append(total.item() / size)

held = sum(p.to_local().numel() for p in model.parameters())
count = torch.tensor([float(held)])
dist.all_reduce(count)
correct = losses[-1] < losses[0] / 2 and count.item() == sum(p.numel() for p in model.parameters())
if rank == 0:
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, this rank holds {held} of {count.item():g} "
          f"parameters: {'correct' if correct else 'wrong'}")
dist.destroy_process_group()
sys.exit(0 if correct else 1)
