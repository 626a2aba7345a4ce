# SPDX-License-Identifier: BSD-3-Clause
"""What the four Python programs of this folder share: digits, weights, a clock for communication, and the
comparison with the training in one process. Numbers are doubles; weights are [outputs, inputs]."""
import os
import sys
import time

import torch
import torch.distributed as dist

PIXELS, CLASSES, SAMPLES, BATCH, EPOCHS = 64, 10, 1536, 96, 4
SIZES = [(PIXELS, 32), (32, 96), (96, 32), (32, CLASSES)]  # inputs and outputs of the layers
RATE = 0.5  # how far a step goes against the mean gradient of a batch
GOOD_PART = 0.9  # of the last epoch's digits
WARM_UPS, REPEATS = 20, 100
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "digits.txt")

# Two orders of adding BATCH terms below 1 differ by BATCH epsilons at most; a step takes RATE of that, and later
# steps do not magnify what earlier ones have left.
TOLERANCE = EPOCHS * SAMPLES / BATCH * RATE * BATCH * torch.finfo(torch.float64).eps

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


class Ranks:
    """The ranks that train together; or, with group None, one that trains alone."""

    def __init__(self, group=None):
        self.group = group
        self.rank, self.size = (dist.get_rank(group), dist.get_world_size(group)) if group else (0, 1)

    def part(self, count):
        """This rank's part of `count` things, dealt out evenly."""
        return part(count, self.rank, self.size)

    def sum(self, tensor):
        """Add up a tensor over all ranks, in place."""
        if self.size > 1:
            dist.all_reduce(tensor, group=self.group)
        return tensor


def part(count, rank, ranks):
    return slice(count * rank // ranks, count * (rank + 1) // ranks)


def begin(most, why):
    """Start torch.distributed with the back end that the command line names, or weft. The first ranks train, `most`
    of them or fewer; others end here."""
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "weft")
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 0 and size > most:
        print(f"{size} ranks do not fit, since {why}: ranks 0 to {most - 1} train")
    group = dist.new_group(range(min(size, most)))
    if rank >= most:
        dist.destroy_process_group()
        sys.exit(0)
    return Ranks(group)


def read_digits():
    """(pixels between 0 and 1, labels). A line is a digit, a blank and 64 signs from 0 to 9 and a to g."""
    with open(DIGITS, encoding="ascii") as lines:
        rows = [line.split() for line in lines][:SAMPLES]
    pixels = torch.tensor([[int(sign, 17) for sign in signs] for _, signs in rows]) / 16.0
    return pixels, torch.tensor([int(label) for label, _ in rows])


def make_weights(inputs, outputs, number):
    """The same at each start, and the same as in training.c."""
    state, values = (1998 + number) * 2654435761 % 2**32, []
    for _ in range(inputs * outputs):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((2 * (state >> 8) / 2**24 - 1) * (3 / inputs) ** 0.5)
    return torch.tensor(values).reshape(outputs, inputs)


def make_network():
    return [make_weights(*size, number).requires_grad_() for number, size in enumerate(SIZES)]


def loss_of(outputs, labels):
    """The loss, a sum over digits, and how many of them were recognised."""
    right = (outputs.argmax(1) == labels).sum()
    loss = torch.nn.functional.cross_entropy(outputs, labels, reduction="sum")
    return loss, torch.stack([loss.detach(), right.to(loss.dtype)])


def step(weights):
    """Go against the gradients of one batch, and forget them."""
    with torch.no_grad():
        for weight in weights:
            if weight.grad is not None:
                weight -= RATE / BATCH * weight.grad
                weight.grad = None


class Clock:
    """Time and bytes of one kind of call, waiting for slower ranks included: with clock.running(bytes): ..."""

    def __init__(self):
        self.seconds = self.bytes = self.calls = 0

    def running(self, size):
        self.bytes += size
        self.calls += 1
        return self

    def __enter__(self):
        self.begin = time.perf_counter()

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.begin

    def print(self, ranks, name, bus_factor, call):
        """What a call cost in the training; then call(elements) many times alone, for the bandwidths as nccl-tests
        define them: bytes by time (algbw), and this times bus_factor, comparable to the speed of a wire (busbw)."""
        if ranks.size == 1:
            return  # there is nobody to talk to
        size, seconds, calls = ranks.sum(torch.tensor([self.bytes, self.seconds, self.calls])).tolist()
        size = int(size / calls) // 8 * 8
        for repeat in range(WARM_UPS + REPEATS):
            if repeat == WARM_UPS:
                dist.barrier(ranks.group)
                begin = time.perf_counter()
            call(size // 8)
        alone = ranks.sum(torch.tensor([(time.perf_counter() - begin) / REPEATS])).item() / ranks.size
        if ranks.rank == 0:
            print(f"  {name}: {calls / ranks.size:.0f} calls of {size} bytes, {seconds / calls * 1e6:.1f} us each in "
                  f"training; alone {alone * 1e6:.1f} us, algbw {size / alone / 1e9:.3f} GB/s, "
                  f"busbw {size / alone / 1e9 * bus_factor:.3f} GB/s")


def all_reduce_factor(ranks):
    """Each byte leaves a rank and comes back as a sum, but for the part that the rank adds up itself."""
    return 2 * (ranks.size - 1) / ranks.size


def run(ranks, name, train_batch):
    """All epochs. train_batch(first) trains with the BATCH digits from `first` on; it returns loss and recognised
    digits of those that this rank counts."""
    begin = time.perf_counter()
    for _ in range(EPOCHS):
        outcome = sum(train_batch(first) for first in range(0, SAMPLES, BATCH))
    seconds = time.perf_counter() - begin
    loss, right = ranks.sum(outcome).tolist()
    if ranks.rank == 0:
        print(f"{name}: {ranks.size} rank{'s' * (ranks.size > 1)}, loss {loss / SAMPLES:.6f}, "
              f"{100 * right / SAMPLES:.1f} % right\n  {seconds * 1e3:.1f} ms")
    if right < GOOD_PART * SAMPLES:
        sys.exit(f"rank {ranks.rank}: it has learned too little")


def from_rank_0(ranks, weights):
    """What rank 0 has trained alone, at all ranks."""
    weights = [weight.detach().clone() for weight in weights]
    for weight in weights:
        dist.broadcast(weight, 0, group=ranks.group)
    return weights


def end(ranks, ours, alone, tolerance=TOLERANCE):
    """Compare the weights with those of one process, and end."""
    differences = torch.stack([(x.detach() - y).abs().max() for x, y in zip(ours, alone)] + [torch.tensor(0.0)])
    most = differences.max()
    dist.all_reduce(most, dist.ReduceOp.MAX, group=ranks.group)
    correct = bool(most <= tolerance)
    if ranks.rank == 0:
        how = "bit by bit" if tolerance == 0 else f"to within {tolerance:.1e}, as sums have another order"
        print(f"  greatest difference {most:.1e}\nweights as in one process, {how}: {'correct' if correct else 'WRONG'}")
    dist.destroy_process_group()
    sys.exit(not correct)
