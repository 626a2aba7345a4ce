# SPDX-License-Identifier: BSD-3-Clause
"""Works and futures: polled, waited for in any order, dropped, chained; and groups used by threads."""
import gc
import threading

import expect
import torch
import torch.distributed as dist

rank, size = expect.begin()
TOTAL = float(size * (size + 1) // 2)


def filled(count=100):
    return torch.full((count,), rank + 1.0)


def check_orders():
    tensors = [filled(n) for n in (1, 1000, 300000)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    for work in reversed(works):
        work.wait()
    expect.synchronize()
    for x, work in zip(tensors, works):
        expect.equal(x, torch.full_like(x, TOTAL), "all_reduce waited for in reverse order")
        expect.equal((work.is_completed(), work.is_success()), (True, True), "a work that is over")
        expect.equal(work.result()[0].data_ptr(), x.data_ptr(), "the result of a work")
        expect.equal(work.get_future().value()[0].data_ptr(), x.data_ptr(), "a future asked for late")


def check_polling():
    x = filled()
    work = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        pass
    expect.equal(x, torch.full_like(x, TOTAL), "all_reduce that was polled")


def check_futures():
    x = filled()
    done = threading.Event()
    future = dist.all_reduce(x, async_op=True).get_future()
    halved = future.then(lambda f: (done.set(), f.value()[0] / 2)[1])
    expect.equal(halved.wait(), torch.full_like(x, TOTAL / 2), "a chained future")
    expect.equal(done.is_set(), True, "the callback")
    # Nobody waits for these but for the last; the progress thread ends them all.
    futures = [dist.all_reduce(filled(), async_op=True).get_future() for _ in range(20)]
    for future in futures:
        expect.equal(future.wait()[0], torch.full((100,), TOTAL), "a future")


def check_dropped():
    """Works that nobody keeps, and whose tensors nobody else does."""
    for _ in range(50):
        dist.all_reduce(filled(5000), async_op=True)
    gc.collect()
    dist.barrier()


def check_requests_between_threads():
    """A receive is waited for in one thread, and two threads wait for one work."""
    right, left = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(10)
    work = dist.irecv(x, left, tag=5)
    waiters = [threading.Thread(target=work.wait) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    dist.isend(torch.full((10,), float(rank)), right, tag=5).wait()
    for waiter in waiters:
        waiter.join()
    expect.equal(x, torch.full((10,), float(left)), "a receive that three threads wait for")


def use_group(group, number, failures):
    try:
        for i in range(100):
            x = torch.full((number * 50 + i,), float(rank + number), device=expect.device())
            if i % 2 == 0:
                dist.all_reduce(x, group=group)
            else:
                dist.all_reduce(x, group=group, async_op=True).wait()
            expected = torch.full_like(x, float(size * (size - 1) // 2 + size * number))
            if not torch.equal(x, expected):
                raise AssertionError(f"group {number}, call {i}: {x[:1]}, not {expected[:1]}")
    except BaseException as err:
        failures.append(err)


def check_threads():
    groups = [dist.new_group() for _ in range(4)]
    failures = []
    threads = [threading.Thread(target=use_group, args=(group, number, failures))
               for number, group in enumerate(groups)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect.equal(failures, [], "groups used by threads")
    for group in groups:
        dist.destroy_process_group(group)


def check_training():
    """DistributedDataParallel gets its gradients by futures."""
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 30))
    model(torch.full((2, 20), rank + 1.0)).sum().backward()
    expected = torch.full((30, 20), 2 * TOTAL / size)
    expect.close(model.module.weight.grad, expected, "averaged gradients")


expect.check(check_orders)
expect.check(check_polling)
expect.check(check_futures)
expect.check(check_dropped)
expect.check(check_requests_between_threads)
expect.check(check_threads)
expect.check(check_training)
expect.end()
