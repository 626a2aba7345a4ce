# SPDX-License-Identifier: BSD-3-Clause
"""Every operation with every type, against what each rank computes for itself."""
import math
import warnings

import expect
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

warnings.filterwarnings("ignore")
rank, size = expect.begin()

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32,
            torch.uint64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
FLOATS8 = [torch.float8_e4m3fn, torch.float8_e5m2]
BYTES = [torch.float8_e4m3fnuz, torch.complex32]
MOVED = [torch.bool] + INTEGERS + FLOATS + FLOATS8 + COMPLEX + BYTES
SHAPES = [(0,), (1,), (3, 5), (1000,)] if expect.DEVICE == "cpu" else [(0,), (3, 5), (1000,)]


def values(*arguments, **more):
    """The same on the rank's device."""
    return known(*arguments, **more).to(expect.device())


def known(dtype, shape, of_rank, seed=0):
    """Small numbers that every rank can make for every other: sums and products are exact. Always on the host, as is what is
    expected of the operations."""
    base = (torch.arange(math.prod(shape), device="cpu") * 7 + of_rank * 3 + seed) % 3 + (0 if dtype == torch.bool else 1)
    if dtype in FLOATS8:
        base = base % 2
    if dtype == torch.bool:
        return (base > 0).reshape(shape)
    if dtype in COMPLEX:
        return torch.complex(base.double(), base.double() * 2 - 3).to(dtype).reshape(shape)
    if dtype == torch.complex32:
        return torch.view_as_complex(torch.stack([base.half(), base.half()], -1)).reshape(shape)
    return base.double().to(dtype).reshape(shape)


def combine(op, tensors):
    """The reduction of all ranks' tensors, in torch."""
    dtype = tensors[0].dtype
    wide = [t if dtype.is_complex or dtype == torch.bool else
            t.to(torch.float64 if dtype.is_floating_point else torch.int64) for t in tensors]
    result = wide[0].clone()
    for other in wide[1:]:
        if dtype == torch.bool:
            result = {ReduceOp.SUM: torch.logical_or, ReduceOp.MAX: torch.logical_or,
                      ReduceOp.BOR: torch.logical_or, ReduceOp.PRODUCT: torch.logical_and,
                      ReduceOp.MIN: torch.logical_and, ReduceOp.BAND: torch.logical_and,
                      ReduceOp.BXOR: torch.logical_xor}[op](result, other)
        else:
            result = {ReduceOp.SUM: torch.add, ReduceOp.AVG: torch.add, ReduceOp.PRODUCT: torch.mul,
                      ReduceOp.MIN: torch.minimum, ReduceOp.MAX: torch.maximum,
                      ReduceOp.BAND: torch.bitwise_and, ReduceOp.BOR: torch.bitwise_or,
                      ReduceOp.BXOR: torch.bitwise_xor}[op](result, other)
    if op == ReduceOp.AVG:
        result = result / size if dtype.is_floating_point or dtype.is_complex else \
            torch.div(result, size, rounding_mode="trunc")
    return result.to(dtype)


def reductions(dtype):
    """The reductions that there are for a type."""
    ops = [ReduceOp.SUM, ReduceOp.PRODUCT]
    if not dtype.is_complex:
        ops += [ReduceOp.MIN, ReduceOp.MAX]
    if dtype != torch.bool:
        ops += [ReduceOp.AVG]
    if dtype in INTEGERS or dtype == torch.bool:
        ops += [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]
    return ops


def same(got, expected, op, what):
    if op == ReduceOp.AVG and not expected.is_complex() and expected.dtype in FLOATS:
        expect.close(got.double(), expected.double(), what)
    else:
        expect.equal(got, expected, what)


def check_reductions(dtype, shape, op):
    what = f"{op} {dtype} {shape}"
    everybody = [known(dtype, shape, r) for r in range(size)]
    expected = combine(op, everybody)
    # torch takes complex numbers as pairs, for which a product is another one.
    if dtype.is_complex and op == ReduceOp.PRODUCT:
        return
    x = values(dtype, shape, rank)
    dist.all_reduce(x, op)
    same(x, expected, op, "all_reduce " + what)
    for root in {0, size - 1}:
        x = values(dtype, shape, rank)
        dist.reduce(x, root, op)
        if rank == root:
            same(x, expected, op, "reduce " + what)
    if dtype not in COMPLEX:
        x = [values(dtype, shape, rank), values(dtype, (4,), rank)]
        dist.all_reduce_coalesced(x, op)
        same(x[0], expected, op, "all_reduce_coalesced " + what)
    whole = torch.cat([values(dtype, shape, rank, seed=r).reshape(-1) for r in range(size)])
    own = combine(op, [known(dtype, shape, r, seed=rank).reshape(-1) for r in range(size)])
    out = torch.empty_like(own, device=expect.device())
    dist.reduce_scatter_tensor(out, whole, op)
    same(out, own, op, "reduce_scatter_tensor " + what)
    out = torch.empty_like(out)
    dist.reduce_scatter(out, list(whole.chunk(size)) if own.numel() else [whole.clone()] * size, op)
    same(out, own, op, "reduce_scatter " + what)


def check_gathers(dtype, shape):
    what = f"{dtype} {shape}"
    mine = values(dtype, shape, rank)
    everybody = [known(dtype, shape, r) for r in range(size)]
    blank = [torch.zeros_like(mine) for _ in range(size)]
    dist.all_gather(blank, mine)
    for r in range(size):
        expect.equal(blank[r], everybody[r], f"all_gather {what} of {r}")
    whole = torch.zeros((size * mine.numel(),), dtype=torch.uint8).to(dtype)
    dist.all_gather_into_tensor(whole, mine)
    flat = torch.cat([t.reshape(-1).view(torch.uint8) for t in everybody]) if mine.numel() else \
        torch.empty(0, dtype=torch.uint8)
    expect.equal(whole.view(torch.uint8) if mine.numel() else flat, flat, "all_gather_into_tensor " + what)
    for root in {0, size - 1}:
        x = mine.clone() if rank == root else torch.zeros_like(mine)
        dist.broadcast(x, root)
        expect.equal(x, everybody[root], "broadcast " + what)
        blank = [torch.zeros_like(mine) for _ in range(size)] if rank == root else None
        dist.gather(mine, blank, root)
        if rank == root:
            for r in range(size):
                expect.equal(blank[r], everybody[r], f"gather {what} of {r}")
        x = torch.zeros_like(mine)
        dist.scatter(x, [values(dtype, shape, r, seed=root) for r in range(size)] if rank == root else None,
                     root)
        expect.equal(x, known(dtype, shape, rank, seed=root), "scatter " + what)


def check_exchanges(dtype, shape):
    what = f"{dtype} {shape}"
    mine = values(dtype, shape, rank)
    out = [torch.zeros_like(mine) for _ in range(size)]
    dist.all_to_all(out, [values(dtype, shape, rank, seed=r) for r in range(size)])
    for r in range(size):
        expect.equal(out[r], known(dtype, shape, r, seed=rank), f"all_to_all {what} from {r}")
    right, left = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros_like(mine)
    requests = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, right),
                                       dist.P2POp(dist.irecv, x, left)])
    for request in requests:
        request.wait()
    expect.equal(x, known(dtype, shape, left), "batch_isend_irecv " + what)
    if size > 1 and rank < 2:
        x = mine if rank == 0 else torch.zeros_like(mine)
        if rank == 0:
            dist.send(x, 1, tag=7)
        else:
            expect.equal(dist.recv(x, 0, tag=7), 0, "recv's source")
            expect.equal(x, known(dtype, shape, 0), "send and recv " + what)


def check_splits():
    """Rank r sends rank s (r + 2s) % 4 rows."""
    def rows(source, target):
        return (source + 2 * target) % 4

    to, back = [rows(rank, r) for r in range(size)], [rows(r, rank) for r in range(size)]
    sent = torch.full((sum(to), 3), float(rank))
    received = torch.zeros(sum(back), 3)
    dist.all_to_all_single(received, sent, back, to)
    expected = torch.cat([torch.full((n, 3), float(r)) for r, n in enumerate(back)])
    expect.equal(received, expected, "all_to_all_single with splits")
    x = torch.arange(float(size * 2)) + 100 * rank
    out = torch.zeros_like(x)
    dist.all_to_all_single(out, x)
    expected = torch.cat([torch.arange(2.0) + 2 * rank + 100 * r for r in range(size)])
    expect.equal(out, expected, "all_to_all_single")
    dist.all_to_all_single(x, x)
    expect.equal(x, expected, "all_to_all_single in place")


def check_uneven_lists():
    """Blocks whose size depends on the rank."""
    out = [torch.zeros(r + 1) for r in range(size)]
    dist.all_gather(out, torch.full((rank + 1,), float(rank)))
    for r in range(size):
        expect.equal(out[r], torch.full((r + 1,), float(r)), "all_gather of blocks that differ")
    result = torch.zeros(rank + 1)
    dist.reduce_scatter(result, [torch.full((r + 1,), float(r)) for r in range(size)])
    expect.equal(result, torch.full((rank + 1,), float(rank * size)), "reduce_scatter, blocks that differ")


def check_not_contiguous():
    x = (torch.arange(12.0).reshape(3, 4) + rank).t()
    dist.all_reduce(x)
    expected = torch.stack([torch.arange(12.0).reshape(3, 4) + r for r in range(size)]).sum(0)
    expect.equal(x.t().contiguous(), expected, "all_reduce of a transposed tensor")
    x = torch.full((6, 2), float(rank))[::2]
    dist.broadcast(x, size - 1)
    expect.equal(x.contiguous(), torch.full((3, 2), float(size - 1)), "broadcast of every second row")
    out = torch.zeros(4, size).t()
    dist.all_gather_into_tensor(out, torch.full((4,), float(rank)))
    expect.equal(out.contiguous(), torch.arange(float(size)).reshape(-1, 1).expand(size, 4).contiguous(),
                 "all_gather_into_tensor to a transposed tensor")
    x = torch.full((4, 2), float(rank)).t()
    out = torch.zeros(4, 2).t()
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (rank + 1) % size),
                                           dist.P2POp(dist.irecv, out, (rank - 1) % size)]):
        request.wait()
    expect.equal(out.contiguous(), torch.full((2, 4), float((rank - 1) % size)), "transposed exchange")


def check_in_place():
    """Inputs that are a part of the output, as sharded training has them."""
    whole = torch.zeros(size * 3)
    whole[rank * 3:rank * 3 + 3] = rank + 1.0
    dist.all_gather_into_tensor(whole, whole[rank * 3:rank * 3 + 3])
    expected = torch.arange(1.0, size + 1).repeat_interleave(3)
    expect.equal(whole, expected, "all_gather_into_tensor in place")
    dist.reduce_scatter_tensor(whole[rank * 3:rank * 3 + 3], whole)
    expect.equal(whole[rank * 3:rank * 3 + 3], torch.full((3,), (rank + 1.0) * size),
                 "reduce_scatter_tensor in place")


def check_premultiplied():
    op = dist._make_nccl_premul_sum(0.5)
    x = torch.full((5,), rank + 1.0)
    dist.all_reduce(x, op)
    expect.equal(x, torch.full((5,), size * (size + 1) / 4), "all_reduce premul_sum")
    out = torch.zeros(2)
    dist.reduce_scatter_tensor(out, torch.full((2 * size,), 2.0), op)
    expect.equal(out, torch.full((2,), float(size)), "reduce_scatter_tensor premul_sum")
    for dtype in FLOATS8:
        x = torch.full((5,), 2.0).to(dtype)
        dist.all_reduce(x, op)
        expect.equal(x, torch.full((5,), float(size)).to(dtype), f"all_reduce premul_sum {dtype}")


def check_sparse():
    indices, values = torch.tensor([[0, rank + 1]]), torch.tensor([1.0, rank + 1.0])
    x = torch.sparse_coo_tensor(indices, values, (size + 2,))
    dist.all_reduce(x)
    expected = torch.tensor([float(size)] + [r + 1.0 for r in range(size)] + [0.0])
    expect.equal(x.to_dense(), expected, "all_reduce of sparse tensors")


def check_any_source():
    if rank == 0:
        sources = set()
        for _ in range(1, size):
            x = torch.zeros(3)
            source = dist.recv(x, tag=3)
            expect.equal(x, torch.full((3,), float(source)), "recv from any source")
            sources.add(source)
        expect.equal(sources, set(range(1, size)), "sources")
    else:
        dist.send(torch.full((3,), float(rank)), 0, tag=3)


def check_objects():
    out = [None] * size
    dist.all_gather_object(out, {"rank": rank, "text": "x" * rank})
    expect.equal(out, [{"rank": r, "text": "x" * r} for r in range(size)], "all_gather_object")
    out = [rank, "from 0"] if rank == 0 else [None, None]
    dist.broadcast_object_list(out, 0)
    expect.equal(out, [0, "from 0"], "broadcast_object_list")
    out = [None]
    dist.scatter_object_list(out, [("to", r) for r in range(size)] if rank == 0 else None, 0)
    expect.equal(out, [("to", rank)], "scatter_object_list")
    out = [None] * size if rank == 0 else None
    dist.gather_object(rank * 2, out, 0)
    expect.equal(out, [r * 2 for r in range(size)] if rank == 0 else None, "gather_object")


def check_coalescing():
    tensors = [torch.full((n,), float(rank)) for n in (1, 0, 500)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for x in tensors:
            dist.all_reduce(x)
    manager.wait()
    for x in tensors:
        expect.equal(x, torch.full_like(x, float(size * (size - 1) // 2)), "coalesced all_reduce")
    outs = [torch.zeros(size * n) for n in (2, 3)]
    with dist._coalescing_manager():
        for n, out in zip((2, 3), outs):
            dist.all_gather_into_tensor(out, torch.full((n,), float(rank)))
    for n, out in zip((2, 3), outs):
        expect.equal(out, torch.arange(float(size)).repeat_interleave(n), "coalesced all_gather")
    outs = [torch.zeros(n) for n in (2, 3)]
    with dist._coalescing_manager():
        for n, out in zip((2, 3), outs):
            dist.reduce_scatter_tensor(out, torch.ones(size * n))
    for n, out in zip((2, 3), outs):
        expect.equal(out, torch.full((n,), float(size)), "coalesced reduce_scatter")


def check_monitored_barrier():
    try:
        dist.monitored_barrier()
    except ValueError as error:  # torch 2.11 lets only gloo have one
        expect.equal("only implemented for GLOO" in str(error), True, str(error))


for dtype in [torch.bool] + INTEGERS + FLOATS + FLOATS8 + COMPLEX:
    for shape in SHAPES:
        for op in reductions(dtype):
            expect.check(check_reductions, dtype, shape, op)
for dtype in MOVED:
    for shape in SHAPES:
        expect.check(check_gathers, dtype, shape)
        expect.check(check_exchanges, dtype, shape)
expect.check(check_splits)
expect.check(check_uneven_lists)
expect.check(check_not_contiguous)
expect.check(check_in_place)
expect.check(check_premultiplied)
if expect.DEVICE == "cpu":
    expect.check(check_sparse)
expect.check(check_any_source)
expect.check(check_objects)
expect.check(check_coalescing)
dist.barrier()
expect.check(check_monitored_barrier)
expect.end()
