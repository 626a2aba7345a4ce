# SPDX-License-Identifier: BSD-3-Clause
"""Tensor-parallel training: every rank has all digits, and a part of two layers. Layer 1 is cut by its outputs
(columns), layer 2 by the same units as inputs (rows), so that between the two nothing need be sent. What comes out
of layer 2 is a sum over all units: an all_reduce of activations. Backwards, the slopes of layer 1's inputs are such a
sum. The small layers 0 and 3 are whole on every rank.

    rank 0    layer 0 --> layer 1, units 0-47  --> layer 2, from units 0-47  --+--> layer 3
                      |                                                        |
    rank 1    layer 0 --> layer 1, units 48-95 --> layer 2, from units 48-95 --+--> layer 3
                      |                                                        |
            all_reduce backwards                                     all_reduce forwards

    torchrun --standalone --nproc-per-node=4 tensor_parallel.py [weft | gloo]
    mpirun -np 4 python tensor_parallel.py
    srun --mpi=pmix -n 4 python tensor_parallel.py
"""
import torch
import training

UNITS = training.SIZES[1][1]
pixels, labels = training.read_digits()


class Enter(torch.autograd.Function):
    """Into the part that is cut: the same values for all ranks; the slopes of all ranks are added up."""

    @staticmethod
    def forward(ctx, values, network):
        ctx.network = network
        return values.view_as(values)

    @staticmethod
    def backward(ctx, slopes):
        return ctx.network.add_up(slopes.contiguous()), None


class Leave(torch.autograd.Function):
    """Out of the part that is cut: the values of all ranks are added up; the same slopes for all ranks."""

    @staticmethod
    def forward(ctx, values, network):
        return network.add_up(values.clone())

    @staticmethod
    def backward(ctx, slopes):
        return slopes, None


def cut(weights, ranks):
    """A rank's part of a whole network."""
    units = ranks.part(UNITS)
    with torch.no_grad():
        parts = [weights[0], weights[1][units], weights[2][:, units], weights[3]]
        return [part.clone().requires_grad_() for part in parts]


class Network:
    def __init__(self, ranks):
        self.ranks, self.clock = ranks, training.Clock()
        self.weights = cut(training.make_network(), ranks)

    def add_up(self, values):
        with self.clock.running(values.nbytes):
            return self.ranks.sum(values)

    def forward(self, values):
        values = Enter.apply(torch.tanh(values @ self.weights[0].T), self)
        values = torch.tanh(values @ self.weights[1].T)
        values = Leave.apply(values @ self.weights[2].T, self)
        return torch.tanh(values) @ self.weights[3].T

    def train_batch(self, first):
        batch = slice(first, first + training.BATCH)
        loss, outcome = training.loss_of(self.forward(pixels[batch]), labels[batch])
        loss.backward()
        training.step(self.weights)
        return outcome if self.ranks.rank == 0 else torch.zeros_like(outcome)  # rank 0 counts for all


def main():
    ranks = training.begin(UNITS, "the layers that are cut have 96 units")
    alone, together = Network(training.Ranks()), Network(ranks)
    if ranks.rank == 0:
        training.run(alone.ranks, "one process", alone.train_batch)
    expected = cut(training.from_rank_0(ranks, alone.weights), ranks)
    training.run(ranks, "layers 1 and 2 cut", together.train_batch)
    together.clock.print(ranks, "all_reduce", training.all_reduce_factor(ranks),
                         lambda count: ranks.sum(torch.ones(count)))
    training.end(ranks, together.weights, expected)


main()
