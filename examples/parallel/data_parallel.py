# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training: every rank has the whole network and a part of each batch. Gradients are sums over the
batch, so an all_reduce a layer makes them complete, and all ranks take the same step. The gradients of the last layer
are ready first: hooks of autograd begin to add them up while those of the layers before are computed, which is what
DistributedDataParallel does.

      rank 0            rank 1
    48 digits         48 digits
    layers 0-3        layers 0-3
    gradients  <----> gradients        all_reduce, layer 3 first
    step              step             the same on both

    torchrun --standalone --nproc-per-node=4 data_parallel.py [weft | gloo]
    mpirun -np 4 python data_parallel.py
    srun --mpi=pmix -n 4 python data_parallel.py
"""
import torch
import torch.distributed as dist
import training

pixels, labels = training.read_digits()


def forward(weights, values):
    for weight in weights[:-1]:
        values = torch.tanh(values @ weight.T)
    return values @ weights[-1].T


def own_part(ranks, first):
    """This rank's digits of a batch."""
    part = ranks.part(training.BATCH)
    return slice(first + part.start, first + part.stop)


class AfterBackward:
    """Add up the gradients when all of them are there."""

    def __init__(self, ranks):
        self.ranks, self.clock = ranks, training.Clock()
        self.weights = training.make_network()

    def add_up(self):
        for weight in reversed(self.weights):
            with self.clock.running(weight.nbytes):
                self.ranks.sum(weight.grad)

    def train_batch(self, first):
        own = own_part(self.ranks, first)
        loss, outcome = training.loss_of(forward(self.weights, pixels[own]), labels[own])
        loss.backward()
        self.add_up()
        training.step(self.weights)
        return outcome


class ByLayer(AfterBackward):
    """Begin to add up the gradients of a layer as soon as they are there."""

    def __init__(self, ranks):
        super().__init__(ranks)
        self.works = []
        for weight in self.weights:
            weight.register_post_accumulate_grad_hook(self.begin)

    def begin(self, weight):
        work = dist.all_reduce(weight.grad, group=self.ranks.group, async_op=True)
        self.works.append((weight, work))

    def add_up(self):
        for weight, work in self.works:
            with self.clock.running(weight.nbytes):
                work.wait()
        self.works.clear()


def main():
    ranks = training.begin(training.BATCH, "a batch has 96 digits")
    alone = AfterBackward(training.Ranks())
    if ranks.rank == 0:
        training.run(alone.ranks, "one process", alone.train_batch)
    expected = training.from_rank_0(ranks, alone.weights)
    ours, theirs = [], []
    for way, name, call in ((AfterBackward, "all_reduce after backward", "all_reduce"),
                            (ByLayer, "all_reduce by layer", "left of all_reduce")):
        together = way(ranks)
        training.run(ranks, name, together.train_batch)
        together.clock.print(ranks, call, training.all_reduce_factor(ranks),
                             lambda count: ranks.sum(torch.ones(count)))
        ours += together.weights
        theirs += expected
    training.end(ranks, ours, theirs)


main()
