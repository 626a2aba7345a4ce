# SPDX-License-Identifier: BSD-3-Clause
"""Training whose lost ranks are started again: ranks kill themselves, mpirun starts them anew, all meet and go on from the last
checkpoint with the ranks that they had, and end with the loss of an undisturbed run. The i-th digit of DEATHS says how often rank
i dies. The checkpoint lies in FOLDER, which all ranks see.

    mpirun --enable-recovery --max-restarts 3 -np 4 python replace_a_rank.py [FOLDER [DEATHS]]
    mpirun --enable-recovery --max-restarts 3 -np 4 python replace_a_rank.py /tmp 1002       (rank 0 once, rank 3 twice)

lose_a_rank.py goes on with the ranks that are left.
"""
import os
import signal
import sys
import tempfile

import torch
import torch.distributed as dist
import weft
from torch.nn.parallel import DistributedDataParallel

STEPS, CHECKPOINT_STEPS, FIRST_DEATH, BATCH = 60, 10, 25, 48
torch.set_default_dtype(torch.float64)
data = torch.randn(STEPS, BATCH, 10, generator=torch.Generator().manual_seed(7))
target = data.sum(2, keepdim=True).sin()


def save(model, optimizer, step):
    """Whole or not at all, so that a rank that dies here leaves the last one."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, checkpoint + ".new")
    os.replace(checkpoint + ".new", checkpoint)


def may_die(rank, step):
    """The first time in FIRST_DEATH, then in the first step of each new process."""
    deaths = int(deaths_of_ranks[rank]) if rank < len(deaths_of_ranks) else 0
    if restarts < deaths and (restarts > 0 or step == FIRST_DEATH):
        os.kill(os.getpid(), signal.SIGKILL)


def train(rank, size, wrap):
    """From the checkpoint, if there is one; the loss of all of the last batch. Size 0: undisturbed, in one process."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first = 0
    if size > 0 and os.path.exists(checkpoint):
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    parallel, parts = wrap(model), max(size, 1)
    own = slice(BATCH * rank // parts, BATCH * (rank + 1) // parts)
    for step in range(first, STEPS):
        if size > 0 and step % CHECKPOINT_STEPS == 0:
            dist.barrier()  # all have read the last one
            if rank == 0:
                save(model, optimizer, step)
        if size > 0:
            may_die(rank, step)
        optimizer.zero_grad()
        loss = (parallel(data[step, own]) - target[step, own]).square().sum() / BATCH
        (loss * parts).backward()  # DistributedDataParallel takes the mean over ranks
        optimizer.step()
    total = loss.detach()
    if size > 0:
        dist.all_reduce(total)
    return total


folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()
deaths_of_ranks = sys.argv[2] if len(sys.argv) > 2 else "01"
restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])  # 0 in the first process of a rank
checkpoint = os.path.join(folder, "replace_a_rank." + os.environ["TORCHELASTIC_RUN_ID"])
dist.init_process_group("weft")  # a process that was started again meets the others here
while True:
    try:
        total = train(dist.get_rank(), dist.get_world_size(), DistributedDataParallel)
        weft.agree()  # all have come to the end, or nobody stops
        break
    except weft.RankLost:
        weft.rejoin()

correct = True
if dist.get_rank() == 0:
    os.remove(checkpoint)
    undisturbed = train(0, 0, lambda model: model)
    correct = bool((total - undisturbed).abs() < 1e-12)
    print(f"{dist.get_world_size()} ranks: loss {total:.6f}, undisturbed {undisturbed:.6f}: "
          f"{'correct' if correct else 'wrong'}", flush=True)
dist.destroy_process_group()
sys.exit(not correct)
