# SPDX-License-Identifier: BSD-3-Clause
"""Functional collectives, DTensor and what is built on it: tensor parallel modules and fully_shard on a mesh."""
import logging

import expect
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

torch._logging.set_logs(all=logging.ERROR)  # DTensor warns of gloo, by the device's name
rank, size = expect.begin()


def of_rank(number, count=4):
    return torch.arange(count, dtype=torch.float32) + 10 * number


def check_functional():
    group = dist.group.WORLD
    all_ranks = [of_rank(each) for each in range(size)]
    expect.equal(functional.all_reduce(of_rank(rank), "sum", group) + 0, sum(all_ranks), "functional all_reduce")
    expect.equal(functional.all_gather_tensor(of_rank(rank), 0, group) + 0, torch.cat(all_ranks), "all_gather_tensor")
    mine = functional.reduce_scatter_tensor(torch.cat([of_rank(rank)] * size), "max", 0, group)
    expect.equal(mine + 0, of_rank(size - 1), "reduce_scatter_tensor")
    expect.equal(functional.broadcast(of_rank(rank), size - 1, group) + 0, of_rank(size - 1), "functional broadcast")
    pieces = functional.all_to_all_single(torch.full((size,), float(rank)), None, None, group)
    expect.equal(pieces + 0, torch.arange(float(size)), "functional all_to_all_single")
    uneven = functional.all_to_all_single(torch.full((size * (rank + 1),), float(rank)),
                                          [each + 1 for each in range(size)], [rank + 1] * size, group)
    expect.equal(uneven + 0, torch.cat([torch.full((each + 1,), float(each)) for each in range(size)]),
                 "functional all_to_all_single with splits")
    sums = functional.all_reduce_coalesced([of_rank(rank), of_rank(rank, 3)], "sum", group)
    for got, count in zip(sums, (4, 3)):
        expect.equal(got + 0, sum(of_rank(each, count) for each in range(size)), "all_reduce_coalesced")
    gathered = functional.all_gather_into_tensor_coalesced([of_rank(rank), of_rank(rank, 3)], group)
    for got, count in zip(gathered, (4, 3)):
        expect.equal(got + 0, torch.cat([of_rank(each, count) for each in range(size)]), "all_gathers")
    scattered = functional.reduce_scatter_tensor_coalesced([torch.ones(size), torch.ones(2 * size)], "sum", [0, 0], group)
    for got, count in zip(scattered, (1, 2)):
        expect.equal(got + 0, torch.full((count,), float(size)), "reduce_scatters")


def check_differentiable():
    given = of_rank(rank).requires_grad_()
    functional.all_gather_tensor_autograd(given, 0, dist.group.WORLD).square().sum().backward()
    expect.equal(given.grad, 2 * size * of_rank(rank), "the gradient of all_gather_tensor_autograd")
    given = torch.ones(size, requires_grad=True)
    result = functional.all_to_all_single_autograd(given, [1] * size, [1] * size, dist.group.WORLD)
    (result * (rank + 1)).sum().backward()
    expect.equal(given.grad, torch.arange(1.0, size + 1), "the gradient of all_to_all_single_autograd")


def check_compiled():
    """Traced with fake tensors, and then run."""
    def twice(values):
        return functional.all_reduce(values, "sum", dist.group.WORLD) * 2

    compiled = torch.compile(twice, backend="aot_eager", fullgraph=True)
    expect.equal(compiled(of_rank(rank)), 2 * sum(of_rank(each) for each in range(size)), "a compiled all_reduce")


def check_placements():
    """Every way from one placement to another, of a matrix that cannot be cut evenly."""
    mesh = init_device_mesh(expect.DEVICE, (size,))
    whole = torch.arange(7.0 * 5).reshape(7, 5)
    placements = [Replicate(), Shard(0), Shard(1)]
    for before in placements:
        given = distribute_tensor(whole, mesh, [before])
        for after in placements:
            expect.equal(given.redistribute(mesh, [after]).full_tensor(), whole, f"{before} to {after}")
    parts = DTensor.from_local(whole * (rank + 1), mesh, [Partial()])
    for after in placements:
        expect.equal(parts.redistribute(mesh, [after]).full_tensor(), whole * (size * (size + 1) // 2), f"parts to {after}")
    left = distribute_tensor(torch.ones(6, 7), mesh, [Shard(1)])
    expect.equal((left @ distribute_tensor(whole, mesh, [Shard(0)])).full_tensor(), torch.ones(6, 7) @ whole, "a product")


def check_tensor_parallel():
    torch.manual_seed(1)
    layers = [torch.nn.Linear(4, 6 * size), torch.nn.Tanh(), torch.nn.Linear(6 * size, 3)]
    module = torch.nn.Sequential(*layers).double()
    inputs = torch.randn(5, 4).double()
    expected = module(inputs).detach()
    module(inputs).sum().backward()
    slopes = layers[0].weight.grad.clone()
    module.zero_grad()
    mesh = init_device_mesh(expect.DEVICE, (size,))
    parallel = parallelize_module(module, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    result = parallel(inputs)
    expect.close(result, expected, "a module cut into columns and rows")
    result.sum().backward()
    expect.close(parallel[0].weight.grad.full_tensor(), slopes, "its gradient")


def check_two_dimensions():
    """fully_shard over one dimension of a mesh, and replicas over the other."""
    if size % 2:
        shape = (1, size)
    else:
        shape = (2, size // 2)
    mesh = init_device_mesh(expect.DEVICE, shape, mesh_dim_names=("replicas", "shards"))
    torch.manual_seed(1)
    module, alone = (torch.nn.Linear(5, 3).double() for _ in range(2))
    alone.load_state_dict(module.state_dict())
    fully_shard(module, mesh=mesh)
    inputs = [torch.randn(2, 5, generator=torch.Generator(expect.DEVICE).manual_seed(each)).double() for each in range(size)]
    module(inputs[rank]).square().sum().backward()
    (alone(torch.cat(inputs)).square().sum() / size).backward()
    expect.close(module.weight.grad.full_tensor(), alone.weight.grad, "the gradient of fully_shard on a mesh")


expect.check(check_functional)
expect.check(check_differentiable)
expect.check(check_compiled)
expect.check(check_placements)
expect.check(check_tensor_parallel)
expect.check(check_two_dimensions)
expect.end()
