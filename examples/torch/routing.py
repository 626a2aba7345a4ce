# SPDX-License-Identifier: BSD-3-Clause
"""Experts on all ranks: each token goes to the rank of its expert and comes back.

    torchrun --standalone --nproc-per-node=4 routing.py [weft | gloo]
    mpirun -np 4 python routing.py
"""
import sys

import torch
import torch.distributed as dist

TOKENS, WIDTH = 50, 16

dist.init_process_group(backend=sys.argv[1] if len(sys.argv) > 1 else "weft")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
tokens = torch.randn(TOKENS, WIDTH)
experts = torch.randint(0, size, (TOKENS,))

order = experts.argsort(stable=True)
counts = torch.bincount(experts, minlength=size)
arriving = torch.empty_like(counts)
dist.all_to_all_single(arriving, counts)
here = torch.empty(int(arriving.sum()), WIDTH)
dist.all_to_all_single(here, tokens[order], arriving.tolist(), counts.tolist())
here = here * (rank + 1)  # what the expert of this rank does
back = torch.empty(TOKENS, WIDTH)
dist.all_to_all_single(back, here, counts.tolist(), arriving.tolist())
result = torch.empty_like(back)
result[order] = back

correct = torch.tensor([float(torch.equal(result, tokens * (experts + 1).unsqueeze(1)))])
dist.all_reduce(correct, dist.ReduceOp.MIN)
if rank == 0:
    print(f"{TOKENS * size} tokens routed to {size} experts: {'correct' if correct.item() else 'wrong'}")
dist.destroy_process_group()
sys.exit(0 if correct.item() else 1)
