# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training: all ranks end with the same parameters, and the loss falls.

    torchrun --standalone --nproc-per-node=4 train_ddp.py [weft | gloo]
    mpirun -np 4 python train_ddp.py
"""
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group(backend=sys.argv[1] if len(sys.argv) > 1 else "weft", init_method="env://")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
data = torch.randn(64, 10)
target = data.sum(1, keepdim=True).sin()
torch.manual_seed(rank)  # DistributedDataParallel gives all ranks the parameters of rank 0
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(),
                                                    torch.nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

losses = []
for step in range(100):
    optimizer.zero_grad()
    loss = (model(data[rank::size]) - target[rank::size]).square().mean()
    loss.backward()  # the gradients are averaged on the way
    optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total)
    losses.append(total.item() / size)

mine = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
everybody = [torch.empty_like(mine) for _ in range(size)]
dist.all_gather(everybody, mine)
correct = losses[-1] < losses[0] / 2 and all(torch.equal(other, mine) for other in everybody)
if rank == 0:
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {len(mine)} parameters: "
          f"{'correct' if correct else 'wrong'}")
dist.destroy_process_group()
sys.exit(0 if correct else 1)
