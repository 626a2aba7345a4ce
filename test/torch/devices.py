# SPDX-License-Identifier: BSD-3-Clause
"""What is special with tensors on a device, and goes with those of the host, too: long ones, streams, training of several steps."""
import contextlib

import expect
import torch
import torch.distributed as dist

rank, size = expect.begin()
LENGTHS = [1 << 16, (1 << 20) + 3, 5000000]  # also beyond where other ways are taken
STEPS, ROWS = 5, 8


def pattern(count, of_rank):
    """Small whole numbers, so that sums are exact in float32."""
    return (torch.arange(count) * 3 + of_rank * 5) % 17 + 1.0


def check_long(count):
    everybody = [pattern(count, r) for r in range(size)]
    x = pattern(count, rank)
    dist.all_reduce(x)
    expect.equal(x, sum(everybody), f"all_reduce of {count}")
    x = pattern(count, rank)
    dist.broadcast(x, size - 1)
    expect.equal(x, everybody[-1], f"broadcast of {count}")
    x = pattern(count, rank)
    dist.reduce(x, 0)
    if rank == 0:
        expect.equal(x, sum(everybody), f"reduce of {count}")
    whole = torch.zeros(size * count)
    dist.all_gather_into_tensor(whole, pattern(count, rank))
    expect.equal(whole, torch.cat(everybody), f"all_gather of {count}")
    x = torch.zeros(count)
    dist.reduce_scatter_tensor(x, torch.cat([pattern(count, rank + r) for r in range(size)]))
    expect.equal(x, sum(pattern(count, r + rank) for r in range(size)), f"reduce_scatter of {count}")


def check_long_exchanges(count):
    out = torch.zeros(size * count)
    dist.all_to_all_single(out, torch.cat([pattern(count, rank + 2 * r) for r in range(size)]))
    expect.equal(out, torch.cat([pattern(count, r + 2 * rank) for r in range(size)]), f"all_to_all of {count}")
    right, left = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(count)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, pattern(count, rank), right),
                                        dist.P2POp(dist.irecv, x, left)]):
        work.wait()
    expect.equal(x, pattern(count, left), f"a ring of {count}")
    blocks = [torch.zeros(count) for _ in range(size)] if rank == 0 else None
    dist.gather(pattern(count, rank), blocks, 0)
    if rank == 0:
        expect.equal(torch.cat(blocks), torch.cat([pattern(count, r) for r in range(size)]), f"gather of {count}")


def new_stream():
    return torch.cuda.Stream() if expect.DEVICE == "cuda" else None


def in_stream(stream):
    return torch.cuda.stream(stream) if stream is not None else contextlib.nullcontext()


def be_late():
    """Keep the current stream busy, so that what does not wait for it is seen to be early."""
    if expect.DEVICE == "cuda":
        torch.cuda._sleep(2000000)


def check_order_in_stream():
    """Kernels before, the operation, and kernels after it, in a stream of the program's."""
    stream = new_stream()
    results = []
    with in_stream(stream):
        for i in range(20):
            x = torch.zeros(20000)
            be_late()
            x.fill_(rank + i)
            dist.all_reduce(x)
            results.append(x * 2)
    if stream is not None:
        stream.synchronize()
    for i, x in enumerate(results):
        expect.equal(x, torch.full_like(x, float(size * (size - 1) + 2 * size * i)), f"all_reduce {i} between kernels")


def check_two_streams():
    """Begun in one stream, waited for in another, which goes on with the result."""
    first, second = new_stream(), new_stream()
    results = []
    for i in range(20):
        with in_stream(first):
            be_late()
            x = torch.full((30000,), float(rank * i))
            work = dist.all_reduce(x, async_op=True)
        with in_stream(second):
            work.wait()
            results.append(x + 1)
            if second is not None:
                x.record_stream(second)
    expect.synchronize()
    for i, x in enumerate(results):
        expect.equal(x, torch.full_like(x, 1.0 + i * size * (size - 1) // 2), f"all_reduce {i} from stream to stream")


def check_many_under_way():
    """More works than fit into a queue, of all kinds, and memory that is given back meanwhile."""
    works, tensors = [], []
    for i in range(400):
        x = torch.full((100 + i,), float(rank + i))
        works.append(dist.all_reduce(x, async_op=True) if i % 2 else dist.broadcast(x, i % size, async_op=True))
        tensors.append(x)
    for work in works:
        work.wait()
    for i, x in enumerate(tensors):
        value = size * (size - 1) // 2 + size * i if i % 2 else i % size + i
        expect.equal(x, torch.full_like(x, float(value)), f"work {i} of many")


def check_copies_meanwhile(count):
    """The host copies what the program has on the device while operations are under way, and results right behind them."""
    whole, x, y = torch.zeros(size * count), pattern(count, rank), pattern(count, rank)
    left, right = (rank - 1) % size, (rank + 1) % size
    z = torch.zeros(count)
    for begin in (lambda: [dist.all_reduce(x, async_op=True)], lambda: [dist.all_gather_into_tensor(whole, y, async_op=True)],
                  lambda: dist.batch_isend_irecv([dist.P2POp(dist.isend, y, right), dist.P2POp(dist.irecv, z, left)])):
        go = torch.zeros(1, device="cpu")
        for other in range(1, size if rank == 0 else 0):
            dist.recv(go, other, tag=1)  # rank 0 begins when the others have copied
        works = begin()
        expect.equal(y.cpu(), pattern(count, rank).cpu(), f"a copy of {count} while an operation is under way")
        if rank > 0:
            dist.send(go, 0, tag=1)
        for work in works:
            work.wait()
    expect.equal(x.cpu(), sum(pattern(count, r) for r in range(size)).cpu(), f"all_reduce of {count}, copied at once")
    expect.equal(whole.cpu(), torch.cat([pattern(count, r) for r in range(size)]).cpu(), f"all_gather of {count}, copied at once")
    expect.equal(z.cpu(), pattern(count, left).cpu(), f"a ring of {count}, copied at once")


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 256), torch.nn.Tanh(),
                               torch.nn.Linear(256, 16)).double()


def train(model, rows):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        torch.manual_seed(100 + step)
        inputs, targets = torch.randn(size * ROWS, 64).double(), torch.randn(size * ROWS, 16).double()
        optimizer.zero_grad()
        (model(inputs[rows]) - targets[rows]).square().mean().backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def check_training(bucket_mb, as_view):
    """As one process trains on the rows of all."""
    parallel = torch.nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=bucket_mb, gradient_as_bucket_view=as_view)
    trained = train(parallel, slice(rank * ROWS, (rank + 1) * ROWS))
    for got, expected in zip(trained, train(network(), slice(None))):
        if not torch.allclose(got, expected, rtol=1e-9, atol=1e-11):
            expect.fail(f"training in buckets of {bucket_mb} MB: off by {(got - expected).abs().max()}")


for length in LENGTHS:
    expect.check(check_long, length)
    expect.check(check_long_exchanges, length)
expect.check(check_order_in_stream)
expect.check(check_two_streams)
expect.check(check_many_under_way)
for length in LENGTHS:
    expect.check(check_copies_meanwhile, length)
expect.check(check_training, 25, False)
expect.check(check_training, 0.1, True)
expect.end()
