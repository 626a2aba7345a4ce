# SPDX-License-Identifier: BSD-3-Clause
"""Wrong arguments and ranks that do not come: exceptions that say what was called and what is wrong."""
import os
import warnings
from datetime import timedelta

import expect
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

warnings.filterwarnings("ignore")
rank, size = expect.begin()
SHORT = timedelta(milliseconds=300)


def check_arguments():
    def bad(words, call, kind=RuntimeError):
        expect.raises(kind, words, call, " ".join(words))

    x, whole = torch.ones(4), torch.ones(4 * size)
    bad(["all_reduce", "BAND", "Float"], lambda: dist.all_reduce(x, ReduceOp.BAND))
    bad(["reduce", "BXOR", "Half"], lambda: dist.reduce(x.half(), 0, ReduceOp.BXOR))
    bad(["all_reduce", "Float8_e4m3fnuz", "not reduced"],
        lambda: dist.all_reduce(x.to(torch.float8_e4m3fnuz)))
    bad(["all_reduce", "avg", "Bool"], lambda: dist.all_reduce(x.bool(), ReduceOp.AVG))
    bad(["all_gather_into_tensor", "5", f"4 times {size}"],
        lambda: dist.all_gather_into_tensor(torch.ones(5), x), ValueError)
    bad(["all_gather_into_tensor", "same type"],
        lambda: dist.all_gather_into_tensor(whole.double(), x), TypeError)
    bad(["reduce_scatter_tensor", "7 elements"],
        lambda: dist.reduce_scatter_tensor(x, torch.ones(7)), ValueError)
    bad(["all_gather", "list size", str(size + 1)],
        lambda: dist.all_gather([x.clone() for _ in range(size + 1)], x), ValueError)
    bad(["all_to_all", "does not match world size"],
        lambda: dist.all_to_all([x] * (size + 1), [x] * (size + 1)), ValueError)
    bad(["all_to_all_single", "sum is 3, not 4"],
        lambda: dist.all_to_all_single(x, x, [3] + [0] * (size - 1), [3] + [0] * (size - 1)), ValueError)
    bad(["all_to_all_single", "non-negative"],
        lambda: dist.all_to_all_single(x, x, [-1] * size, [-1] * size), ValueError)
    bad(["broadcast", "invalid root rank", str(size)],
        lambda: dist.group.WORLD.broadcast(x, size), RuntimeError)
    bad(["send", "tag -1"], lambda: dist.group.WORLD.send([x], 0, -1),
        ValueError)


def check_sizes():
    """A message of another size than the tensor's."""
    if size == 1:
        return
    for count, words in ((2, ["recv", "of 4 Float", "8 bytes", "holds 16"]), (8, ["recv", "of 4 Float"])):
        if rank == 0:
            dist.send(torch.ones(count), 1, tag=count)
        elif rank == 1:
            expect.raises(dist.DistBackendError, words + ["from rank 0", "on rank 1"],
                          lambda: dist.recv(torch.ones(4), 0, tag=count), f"recv of {count}")
    dist.barrier()


def check_shapes():
    """A collective to which rank 1 brings a smaller tensor than the others. Where the ranks share memory, all hear of it,
    and the group has failed; by messages the others may go on with it."""
    if size == 1:
        return
    advice = ["shapes and types of all ranks", "TORCH_DISTRIBUTED_DEBUG=DETAIL"]
    group = dist.new_group()
    for is_async in (False, True):
        def call():
            work = dist.all_reduce(torch.ones(7 if rank == 1 else 8), group=group, async_op=is_async)
            return work.wait() if is_async else None
        text = ""
        try:
            call()
        except dist.DistBackendError as error:
            text = str(error)
        shares_memory, words = "the ranks disagree" in text, []
        if shares_memory:
            words = advice + ["allreduce of 28 bytes at rank 1", "allreduce of 32 bytes at rank"]
        elif rank == 1:
            words = advice + ["has 32 bytes", "holds 28"]
        else:
            expect.equal(text, "", "unequal shapes by messages: what another rank than 1 hears")
        if rank == 1:
            words += ["all_reduce (sum) of 7 Float (28 bytes)", "on rank 1"]
        expect.equal([word for word in words if word not in text], [], f"unequal shapes: missing in {text!r}")
        if os.environ.get("WEFT_WALLS") == "no":
            expect.equal(shares_memory, False, "shared memory with WEFT_WALLS=no")
        dist.barrier()
        if shares_memory:
            group = dist.new_group()


def check_missing_message():
    if size == 1:
        return
    group = dist.new_group(timeout=SHORT)
    if rank == 0:
        for call in (lambda: dist.recv(torch.ones(3), 1, group=group),
                     lambda: dist.irecv(torch.ones(3), 1, group=group).wait(),
                     lambda: dist.irecv(torch.ones(3), 1, group=group).get_future().wait()):
            expect.raises(RuntimeError, ["recv of 3 Float (12 bytes)", "from rank 1", "Timed out after 300 ms"],
                          call, "a message that does not come")
        work = dist.irecv(torch.ones(3), 1)
        expect.raises(RuntimeError, ["recv", "after a wait of 100 ms"],
                      lambda: work.wait(timedelta(milliseconds=100)), "a limited wait")
    dist.barrier()
    if rank == 0:
        work.wait()
    elif rank == 1:
        dist.send(torch.ones(3), 0)
    dist.barrier()


def check_monitored_barrier():
    if size < 3:
        return
    if rank == 0:
        expect.raises(RuntimeError, ["Rank 2 failed to pass monitoredBarrier in 300 ms"],
                      lambda: dist.monitored_barrier(timeout=SHORT), "a barrier without rank 2")
    elif rank != 2:
        expect.raises(RuntimeError, [f"Rank {rank} successfully reached", "Rank 0 misses rank 2"],
                      lambda: dist.monitored_barrier(timeout=timedelta(seconds=60)), "a failed barrier")
    dist.barrier()
    # Rank 2 counts one barrier fewer than the others.
    dist.monitored_barrier()
    dist.monitored_barrier()


def check_missing_member():
    """A group that one member does not make."""
    if size == 1:
        return
    if rank != size - 1:
        expect.raises(dist.DistBackendError, ["could not be made", f"waits for rank(s) {size - 1}"],
                      lambda: dist.new_group(timeout=SHORT), "a group without its last rank")
    dist.monitored_barrier()


def check_missing_rank():
    """A collective without rank 0. What MPI has begun cannot be taken back, so this comes last."""
    if size == 1:
        return
    group = dist.new_group(timeout=SHORT)
    call = (lambda: dist.all_reduce(torch.ones(7), group=group)) if rank % 2 else \
        (lambda: dist.all_reduce(torch.ones(7), group=group, async_op=True).wait())
    if rank != 0:
        expect.raises(dist.DistBackendError, ["all_reduce (sum) of 7 Float (28 bytes)", "Timed out",
                                              "after 300 ms", f"all {size} ranks", f"on rank {rank}"],
                      call, "all_reduce without rank 0")
    dist.monitored_barrier()
    if rank == 0:  # late, so that the others' operations end after all
        dist.all_reduce(torch.ones(7), group=group)
    dist.barrier()


check_arguments()
check_sizes()
check_shapes()
check_missing_message()
check_monitored_barrier()
check_missing_rank()
check_missing_member()
dist.destroy_process_group()
expect.raises(ValueError, ["Default process group has not been initialized"], dist.barrier, "no group")
