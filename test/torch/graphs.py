# SPDX-License-Identifier: BSD-3-Clause
"""CUDA graphs: operations that are captured once and launched again and again. Does nothing without a device."""
import expect
import torch
import torch.distributed as dist

COUNT, LAUNCHES = 5000, 5
rank, size = expect.begin()


def operations(x, whole, blocks):
    """What is captured: the sum, and a gather and an exchange of it."""
    y = x * 2
    dist.all_reduce(y)
    dist.all_gather_into_tensor(whole, x)
    dist.all_to_all_single(blocks, whole)
    return y + 1


def check_graph(mode):
    x, whole, blocks = torch.zeros(COUNT), torch.zeros(size * COUNT), torch.zeros(size * COUNT)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # once outside of a capture, so that all memory is known
        operations(x, whole, blocks)
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
        y = operations(x, whole, blocks)
    for i in range(LAUNCHES):
        x.fill_(rank + i)
        graph.replay()
        torch.cuda.synchronize()
        expect.equal(y, torch.full_like(y, 1.0 + size * (size - 1) + 2 * size * i), f"all_reduce in launch {i} of a graph, {mode}")
        rows = torch.cat([torch.full((COUNT,), float(r + i)) for r in range(size)])
        expect.equal(whole, rows, f"all_gather in launch {i} of a graph, {mode}")
        piece = rows[rank * COUNT:(rank + 1) * COUNT]
        expect.equal(blocks, piece.repeat(size), f"all_to_all in launch {i} of a graph, {mode}")
    dist.barrier()


if expect.DEVICE == "cuda":
    for capture_mode in ("thread_local", "global"):
        expect.check(check_graph, capture_mode)
expect.end()
