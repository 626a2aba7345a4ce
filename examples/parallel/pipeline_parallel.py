# SPDX-License-Identifier: BSD-3-Clause
"""Pipeline-parallel training: every rank has some layers, a stage. A batch goes through the stages in micro-batches,
forwards (F) and backwards (B), so that all stages have work at the same time. The schedule is 1F1B: a stage begins
with as many F as there are stages after it, then takes one F and one B in turn, and ends with the B that are left:

  stage 0  F0 F1 F2 F3 .. .. .. B0 F4 B1 F5 B2 .. B3 .. B4 .. B5
  stage 1  .. F0 F1 F2 .. .. B0 F3 B1 F4 B2 F5 B3 .. B4 .. B5 ..
  stage 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 F4 B3 F5 B4 .. B5 .. ..
  stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 .. .. ..
           time -->

Gradients are added in the order of the micro-batches, and no sum goes over ranks, so the weights are those of one
process bit by bit.

    torchrun --standalone --nproc-per-node=4 pipeline_parallel.py [weft | gloo]
    mpirun -np 4 python pipeline_parallel.py
    srun --mpi=pmix -n 4 python pipeline_parallel.py
"""
import torch
import torch.distributed as dist
import training

LAYERS, MICRO_BATCHES = len(training.SIZES), 8
ROWS = training.BATCH // MICRO_BATCHES
FORWARDS, BACKWARDS = 0, MICRO_BATCHES  # tags, to which the number of the micro-batch is added
pixels, labels = training.read_digits()


class Stage:
    def __init__(self, ranks):
        self.ranks, self.clock = ranks, training.Clock()
        self.layers = range(*ranks.part(LAYERS).indices(LAYERS))
        self.is_first, self.is_last = ranks.rank == 0, ranks.rank == ranks.size - 1
        self.weights = training.make_network()[self.layers.start:self.layers.stop]

    def begin_receives(self):
        """Of a whole batch: a message finds its receive posted."""
        self.sends, self.micro = [], [{} for _ in range(MICRO_BATCHES)]
        for number, micro in enumerate(self.micro):
            if not self.is_first:
                micro["in"] = torch.empty(ROWS, training.SIZES[self.layers[0]][0])
                micro["in has come"] = self.receive(micro["in"], self.ranks.rank - 1, FORWARDS + number)
            if not self.is_last:
                micro["slopes"] = torch.empty(ROWS, training.SIZES[self.layers[-1]][1])
                micro["slopes have come"] = self.receive(micro["slopes"], self.ranks.rank + 1, BACKWARDS + number)

    def receive(self, values, rank, tag):
        return dist.irecv(values, group_src=rank, group=self.ranks.group, tag=tag)

    def send(self, values, rank, tag):
        self.sends.append((values, dist.isend(values, group_dst=rank, group=self.ranks.group, tag=tag)))

    def wait(self, work, values):
        with self.clock.running(values.nbytes):
            work.wait()

    def forward(self, number, first):
        micro = self.micro[number]
        if self.is_first:
            micro["in"] = pixels[first:first + ROWS]
        else:
            self.wait(micro["in has come"], micro["in"])
            micro["in"].requires_grad_()
        values = micro["in"]
        for layer, weight in zip(self.layers, self.weights):
            values = values @ weight.T
            if layer < LAYERS - 1:
                values = torch.tanh(values)
        micro["out"] = values
        if not self.is_last:
            self.send(values.detach(), self.ranks.rank + 1, FORWARDS + number)

    def backward(self, number, first):
        micro, outcome = self.micro[number], torch.zeros(2)
        if self.is_last:
            loss, outcome = training.loss_of(micro["out"], labels[first:first + ROWS])
            loss.backward()
        else:
            self.wait(micro["slopes have come"], micro["slopes"])
            micro["out"].backward(micro["slopes"])
        if not self.is_first:
            self.send(micro["in"].grad, self.ranks.rank - 1, BACKWARDS + number)
        return outcome

    def train_batch(self, first):
        outcome, ahead = torch.zeros(2), self.ranks.size - 1 - self.ranks.rank
        self.begin_receives()
        for moment in range(MICRO_BATCHES + ahead):
            if moment < MICRO_BATCHES:
                self.forward(moment, first + ROWS * moment)
            if moment >= ahead:
                outcome += self.backward(moment - ahead, first + ROWS * (moment - ahead))
        for _, work in self.sends:
            work.wait()
        training.step(self.weights)
        return outcome


def ring(ranks):
    """A message to the next rank, one from the rank before."""
    def pass_on(count):
        out, into = torch.ones(count), torch.empty(count)
        work = dist.isend(out, group_dst=(ranks.rank + 1) % ranks.size, group=ranks.group)
        dist.recv(into, group_src=(ranks.rank - 1) % ranks.size, group=ranks.group)
        work.wait()
    return pass_on


def main():
    ranks = training.begin(LAYERS, "there are 4 layers")
    alone, together = Stage(training.Ranks()), Stage(ranks)
    if ranks.rank == 0:
        training.run(alone.ranks, "one process", alone.train_batch)
    expected = training.from_rank_0(ranks, alone.weights)
    training.run(ranks, "layers on stages", together.train_batch)
    together.clock.print(ranks, "messages", 1, ring(ranks))
    training.end(ranks, together.weights, [expected[layer] for layer in together.layers], tolerance=0)


main()
