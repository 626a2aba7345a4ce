# SPDX-License-Identifier: BSD-3-Clause
"""TORCH_DISTRIBUTED_DEBUG=DETAIL: a rank whose collective differs from the others' is named at all
ranks, in the same words; and what may differ passes."""
import contextlib
import io
from datetime import timedelta

import expect
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

dist.set_debug_level(dist.DebugLevel.DETAIL)
with contextlib.redirect_stderr(io.StringIO()):
    rank, size = expect.begin()


def called(odd, odds_call, others_call):
    """How the audit says that rank `odd` calls one thing and the others another."""
    if size == 2:
        calls = {odd: odds_call, 1 - odd: others_call}
        return ", ".join(f"rank {each} calls {calls[each]}" for each in (0, 1))
    return f"rank {odd} calls {odds_call}, the others {others_call}"


def differ(odd, odds, others, group=None):
    """Rank `odd` does one thing, the others another: pairs of what is said and a function."""
    words = ["Detected mismatch between collectives on ranks: " + called(odd, odds[0], others[0])]
    words += [f"(on rank {rank})"]
    expect.raises(dist.DistBackendError, words, odds[1] if rank == odd else others[1], words[0])
    dist.barrier()


def ones(*shape, dtype=torch.float32):
    return torch.ones(*shape, dtype=dtype)


def lists(count, *sizes):
    return [ones(each) for each in (sizes or (4,) * count)]


def check_differences(odd):
    reduced = lambda *args: (lambda: dist.all_reduce(*args))  # noqa: E731
    eight = ("all_reduce (sum) of Float [8]", reduced(ones(8)))
    differ(odd, ("all_reduce (sum) of Float [7]", reduced(ones(7))), eight)
    differ(odd, ("all_reduce (sum) of Float [2, 4]", reduced(ones(2, 4))), eight)
    differ(odd, ("all_reduce (sum) of Int [8]", reduced(ones(8, dtype=torch.int32))), eight)
    differ(odd, ("all_reduce (max) of Float [8]", reduced(ones(8), ReduceOp.MAX)), eight)
    differ(odd, ("all_reduce (avg) of Float [8]", reduced(ones(8), ReduceOp.AVG)), eight)
    differ(odd, ("barrier", dist.barrier), eight)
    differ(odd, eight, ("barrier", dist.barrier))
    differ(odd, ("broadcast of Float [8], root rank 0", lambda: dist.broadcast(ones(8), 0)), eight)
    for call, name in ((dist.broadcast, "broadcast of Float [3], root rank"),
                       (dist.reduce, "reduce (sum) of Float [3], root rank")):
        differ(odd, (f"{name} 1", lambda: call(ones(3), 1)), (f"{name} 0", lambda: call(ones(3), 0)))
    gather = lambda root: dist.gather(ones(4), lists(size) if rank == root else None, root)  # noqa: E731
    differ(odd, ("gather of Float [4], root rank 1", lambda: gather(1)),
           ("gather of Float [4], root rank 0", lambda: gather(0)))
    scatter = lambda n: dist.scatter(ones(n), lists(size, *[n] * size) if rank == 0 else None)  # noqa: E731
    differ(odd, ("scatter of Float [5], root rank 0", lambda: scatter(5)),
           ("scatter of Float [4], root rank 0", lambda: scatter(4)))
    differ(odd, ("all_gather of Float [5]", lambda: dist.all_gather(lists(size, *[5] * size), ones(5))),
           ("all_gather of Float [4]", lambda: dist.all_gather(lists(size), ones(4))))
    differ(odd, ("all_gather_into_tensor of Float [1]",
                 lambda: dist.all_gather_into_tensor(ones(size), ones(1))),
           ("all_gather of Float [1]", lambda: dist.all_gather(lists(size, *[1] * size), ones(1))))
    differ(odd, ("reduce_scatter_tensor (sum) of Float [2]",
                 lambda: dist.reduce_scatter_tensor(ones(2), ones(2 * size))),
           ("reduce_scatter_tensor (product) of Float [2]",
            lambda: dist.reduce_scatter_tensor(ones(2), ones(2 * size), ReduceOp.PRODUCT)))
    differ(odd, ("all_reduce_coalesced (sum) of Float [2], Float [3]",
                 lambda: dist.all_reduce_coalesced(lists(2, 2, 3))),
           ("all_reduce_coalesced (sum) of Float [2], Float [4]",
            lambda: dist.all_reduce_coalesced(lists(2, 2, 4))))


def check_waiting(odd):
    """Works, and operations that are coalesced."""
    differ(odd, ("all_reduce (sum) of Float [7]", lambda: dist.all_reduce(ones(7), async_op=True)),
           ("all_reduce (sum) of Float [8]", lambda: dist.all_reduce(ones(8), async_op=True)))
    outputs, inputs = torch.empty(2 * size), ones(2)
    with dist._coalescing_manager(async_ops=True) as manager:
        dist.all_gather_into_tensor(outputs, inputs)
        dist.all_gather_into_tensor(outputs, inputs)
    manager.wait()


def check_blocks(odd):
    """Blocks of different sizes: what all ranks must know of each other's."""
    sizes = [each + 1 for each in range(size)]
    other = [each + 2 for each in range(size)]
    said = "all_gather of Float with outputs of {} elements"
    own = lambda sizes: lambda: dist.all_gather(lists(size, *sizes), ones(sizes[rank]))  # noqa: E731
    own(sizes)()
    differ(odd, (said.format(", ".join(map(str, other))), own(other)),
           (said.format(", ".join(map(str, sizes))), own(sizes)))


def check_pieces(odd):
    """Every rank sends each rank as many elements as this expects."""
    sent = [rank + 1] * size
    expected = [each + 1 for each in range(size)]
    exchange = lambda expected: dist.all_to_all_single(  # noqa: E731
        torch.empty(sum(expected)), ones(sum(sent)), expected, sent)
    exchange(expected)
    wrong = list(expected)
    wrong[0] += 2 * (rank == odd)
    words = f"rank 0 sends 1 elements to rank {odd}, which expects 3,"
    expect.raises(dist.DistBackendError, [words], lambda: exchange(wrong), words)
    differ(odd, (f"all_to_all_single of Float [{size}]",
                 lambda: dist.all_to_all_single(torch.empty(size), ones(size))),
           ("all_to_all_single of Float with splits",
            lambda: dist.all_to_all_single(torch.empty(size), ones(size), [1] * size, [1] * size)))


def check_order(odd):
    """Two collectives in another order."""
    differ(odd, ("broadcast of Float [4], root rank 0", lambda: dist.broadcast(ones(4), 0)),
           ("all_reduce (sum) of Float [4]", lambda: dist.all_reduce(ones(4))))
    # A call that has failed at one rank for its arguments has not begun, and is not counted.
    if rank == odd:
        expect.raises(ValueError, ["all_gather_into_tensor"],
                      lambda: dist.all_gather_into_tensor(ones(5), ones(4)), "bad arguments")
    dist.all_reduce(ones(4))


def check_parties():
    """No two ranks agree, or there are two parties."""
    words = ", ".join(f"rank {each} calls all_reduce (sum) of Float [{each}]" for each in range(size))
    expect.raises(dist.DistBackendError, [words], lambda: dist.all_reduce(ones(rank)), words)
    if size == 5:
        words = "ranks 1, 3 call all_reduce (sum) of Float [1], the others all_reduce (sum) of Float [0]"
        expect.raises(dist.DistBackendError, [words], lambda: dist.all_reduce(ones(rank % 2)), words)


def check_missing(odd):
    """A rank that does not come, then comes late; and a group that goes on."""
    group = dist.new_group(timeout=timedelta(milliseconds=300))
    present = [each for each in range(size) if each != odd]
    several = f"ranks {', '.join(map(str, present))} call" if size > 2 else f"rank {present[0]} calls"
    words = f"all_reduce (sum) of Float [7], rank {odd} calls nothing within 300 ms"
    who = several if odd != 0 else f"rank {rank} calls"
    if rank != odd:
        expect.raises(dist.DistBackendError, [f"{who} {words}", "number 1 of group"],
                      lambda: dist.all_reduce(ones(7), group=group), words)
    dist.monitored_barrier()
    if odd == 0:
        return
    if rank == odd:
        expect.raises(dist.DistBackendError, [f"{several} {words}"],
                      lambda: dist.all_reduce(ones(7), group=group), words)
    dist.monitored_barrier()
    total = ones(7)
    dist.all_reduce(total, group=dist.new_group())
    expect.equal(total, torch.full((7,), float(size)), "a sum in a new group")
    dist.monitored_barrier()


def check_what_passes():
    for tensor in (ones(4), ones(4, dtype=torch.bool), torch.eye(3).to_sparse()):
        dist.all_reduce(tensor)
    everybody = [None] * size
    dist.all_gather_object(everybody, "x" * rank)
    expect.equal(everybody, ["x" * each for each in range(size)], "objects")
    dist.batch_isend_irecv([dist.P2POp(dist.isend, ones(2), (rank + 1) % size),
                            dist.P2POp(dist.irecv, ones(2), (rank - 1) % size)])[-1].wait()
    expect.equal(type(dist.group.WORLD._get_backend(torch.device("cpu"))).__name__, "ProcessGroupWeft",
                 "the back end without a wrapper of torch's")
    half = dist.new_group([0])
    if rank == 0:
        dist.all_reduce(ones(3), group=half)


check_what_passes()
if size > 1:
    for odd in (size - 1, 0):
        check_differences(odd)
        check_waiting(odd)
        check_order(odd)
    for odd in range(1, size):
        check_blocks(odd)
        check_pieces(odd)
    check_parties()
    for odd in (size - 1, 0):
        check_missing(odd)
dist.destroy_process_group()
