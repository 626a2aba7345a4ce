# SPDX-License-Identifier: BSD-3-Clause
"""Expert-parallel training: between the first and the last layer stand eight experts, small networks, each on one
rank. A gate chooses one expert for each token (here a digit), so a token costs as much as with one expert.
all_to_all_single takes tokens to the ranks of their experts and results back; slopes go the same ways. Entry, gate
and exit are on every rank, for a part of each batch: their gradients are added up by all_reduce, while an expert
has seen all its tokens.

    rank 0   entry, gate --+   +--> experts 0-3 --+   +--> + --> exit
                            \\ /                    \\ /
                         all_to_all             all_to_all
                            / \\                    / \\
    rank 1   entry, gate --+   +--> experts 4-7 --+   +--> + --> exit

What comes out for token x is x + p * expert(x), where p is the gate's probability of the expert: so the gate learns,
too. Nothing here makes the gate use all experts alike.

    torchrun --standalone --nproc-per-node=4 expert_parallel.py [weft | gloo]
    mpirun -np 4 python expert_parallel.py
    srun --mpi=pmix -n 4 python expert_parallel.py
"""
import torch
import torch.distributed as dist
import training

EXPERTS, WIDTH, HIDDEN = 8, 32, 24  # WIDTH: numbers of a token
SHARED = [(training.PIXELS, WIDTH), (WIDTH, EXPERTS), (WIDTH, training.CLASSES)]  # entry, gate, exit
pixels, labels = training.read_digits()


class Exchange(torch.autograd.Function):
    """Rows to each rank (`sent` says how many) and from each (`received`); slopes go the other way."""

    @staticmethod
    def forward(ctx, rows, sent, received, network):
        ctx.way = received, sent, network
        return network.exchange(rows, sent, received)

    @staticmethod
    def backward(ctx, slopes):
        sent, received, network = ctx.way
        return network.exchange(slopes.contiguous(), sent, received), None, None, None


class Network:
    def __init__(self, ranks):
        self.ranks, self.clock, self.sum_clock = ranks, training.Clock(), training.Clock()
        self.mine = range(*ranks.part(EXPERTS).indices(EXPERTS))
        self.shared = [training.make_weights(*size, i).requires_grad_() for i, size in enumerate(SHARED)]
        self.experts = [training.make_weights(*size, len(SHARED) + 2 * expert + i).requires_grad_()
                        for expert in self.mine for i, size in enumerate([(WIDTH, HIDDEN), (HIDDEN, WIDTH)])]

    def exchange(self, rows, sent, received):
        if self.ranks.size == 1:
            return rows.clone()
        result = torch.empty(sum(received), WIDTH)
        with self.clock.running(rows.nbytes):
            dist.all_to_all_single(result, rows, received, sent, group=self.ranks.group)
        return result

    def plan(self, chosen):
        """How many tokens each rank (row) has for each expert (column)."""
        counts = torch.bincount(chosen, minlength=EXPERTS)
        everybody = torch.empty(self.ranks.size * EXPERTS, dtype=counts.dtype)
        if self.ranks.size == 1:
            return counts.unsqueeze(0)
        dist.all_gather_into_tensor(everybody, counts, group=self.ranks.group)
        return everybody.view(self.ranks.size, EXPERTS)

    def run_experts(self, tokens, counts):
        """Tokens stand by rank, and then by expert."""
        results = []
        for number, rows in enumerate(tokens.split(counts.flatten().tolist())):
            first, second = self.experts[2 * (number % len(self.mine)):][:2]
            results.append(torch.tanh(rows @ first.T) @ second.T)
        return torch.cat(results)

    def forward(self, values):
        entry, gate, last = self.shared
        tokens = torch.tanh(values @ entry.T)
        chance, chosen = torch.softmax(tokens @ gate.T, 1).max(1)
        order, counts = chosen.argsort(stable=True), self.plan(chosen)
        here = counts[:, self.mine.start:self.mine.stop]
        sent = [int(counts[self.ranks.rank, training.part(EXPERTS, rank, self.ranks.size)].sum())
                for rank in range(self.ranks.size)]
        received = here.sum(1).tolist()
        arrived = Exchange.apply(tokens[order], sent, received, self)
        returned = Exchange.apply(self.run_experts(arrived, here), received, sent, self)
        self.route = sent, received
        return (tokens + chance.unsqueeze(1) * returned[order.argsort()]) @ last.T

    def train_batch(self, first):
        part = self.ranks.part(training.BATCH)
        own = slice(first + part.start, first + part.stop)
        loss, outcome = training.loss_of(self.forward(pixels[own]), labels[own])
        loss.backward()
        for weight in self.shared:
            with self.sum_clock.running(weight.nbytes):
                self.ranks.sum(weight.grad)
        training.step(self.shared + self.experts)
        return outcome

    def exchange_again(self, _):
        """The way out of the last batch's tokens."""
        sent, received = self.route
        dist.all_to_all_single(torch.empty(sum(received), WIDTH), torch.ones(sum(sent), WIDTH), received, sent,
                               group=self.ranks.group)


def main():
    ranks = training.begin(EXPERTS, "there are 8 experts")
    alone, together = Network(training.Ranks()), Network(ranks)
    if ranks.rank == 0:
        training.run(alone.ranks, "one process", alone.train_batch)
    shared, experts = training.from_rank_0(ranks, alone.shared), training.from_rank_0(ranks, alone.experts)
    training.run(ranks, "experts on their ranks", together.train_batch)
    together.clock.print(ranks, "all_to_all of tokens", (ranks.size - 1) / ranks.size, together.exchange_again)
    together.sum_clock.print(ranks, "all_reduce", training.all_reduce_factor(ranks),
                             lambda count: ranks.sum(torch.ones(count)))
    mine = experts[2 * together.mine.start:2 * together.mine.stop]
    training.end(ranks, together.shared + together.experts, shared + mine)


main()
