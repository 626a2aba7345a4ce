# SPDX-License-Identifier: BSD-3-Clause
"""Training that goes on when ranks are lost: the last rank, or the last LOST ranks, kill themselves in step 25; the others make
a new group of those that are left, go on from the last checkpoint with the same batches, and end with the loss of an
undisturbed run. The checkpoint lies in FOLDER, which all ranks see.

    mpirun --enable-recovery -np 4 python lose_a_rank.py [FOLDER [LOST]]
    mpirun --enable-recovery --simulate-hosts 2 -np 4 python lose_a_rank.py /tmp 2                 (a whole host)
    WEFT_RECOVERY=yes torchrun --nnodes=4 --nproc-per-node=1 ... lose_a_rank.py       (on each host)

An agent of torchrun ends all its ranks when one fails, so there the ranks of other agents go on.
"""
import os
import signal
import sys
import tempfile

import torch
import torch.distributed as dist
import weft
from torch.nn.parallel import DistributedDataParallel

STEPS, CHECKPOINT_STEPS, LAST_STEP_OF_VICTIM, BATCH = 60, 10, 25, 48
torch.set_default_dtype(torch.float64)
data = torch.randn(STEPS, BATCH, 10, generator=torch.Generator().manual_seed(7))
target = data.sum(2, keepdim=True).sin()


def make_model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def save(model, optimizer, step):
    """Whole or not at all, so that a rank that dies here leaves the last one."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, checkpoint + ".new")
    os.replace(checkpoint + ".new", checkpoint)


def train(rank, size, wrap):
    """From the checkpoint, if there is one; the loss of all digits of the last batch."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = 0
    if size > 0 and os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    parallel, parts = wrap(model), max(size, 1)
    own = slice(BATCH * rank // parts, BATCH * (rank + 1) // parts)  # the same batch, whoever is left
    for step in range(first, STEPS):
        if size > 0 and step % CHECKPOINT_STEPS == 0:
            if rank == 0:
                save(model, optimizer, step)
            dist.barrier()
        if size == ranks_at_first > lost_ranks and step == LAST_STEP_OF_VICTIM and rank >= size - lost_ranks:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        loss = (parallel(data[step, own]) - target[step, own]).square().sum() / BATCH
        (loss * parts).backward()  # DistributedDataParallel takes the mean over ranks
        optimizer.step()
    return loss.detach()


dist.init_process_group("weft")
ranks_at_first = dist.get_world_size()
folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()
lost_ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 1
names = [f"lose_a_rank.{os.getpid()}"]
dist.broadcast_object_list(names, 0)
checkpoint = os.path.join(folder, names[0])
while True:
    try:
        total = train(dist.get_rank(), dist.get_world_size(), DistributedDataParallel)
        dist.all_reduce(total)
        break
    except weft.RankLost as lost:
        before = dist.get_world_size()
        left = weft.recover()
        if dist.get_rank() == 0:
            print(f"rank(s) {sorted(set(range(before)) - set(left))} lost, {len(left)} go on")

correct = True
if dist.get_rank() == 0:
    os.remove(checkpoint)
    undisturbed = train(0, 0, lambda model: model)
    correct = bool((total - undisturbed).abs() < 1e-12)
    print(f"loss {total:.6f}, undisturbed {undisturbed:.6f}: {'correct' if correct else 'wrong'}", flush=True)
dist.destroy_process_group()
sys.exit(not correct)
