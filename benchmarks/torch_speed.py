# SPDX-License-Identifier: BSD-3-Clause
"""Back ends of torch.distributed side by side, in the same processes and in turns: what each rank runs, and the table of it.

    <launcher> python torch_speed.py --out FILE [--device cuda] [--sizes 4,1024] [--repeats 5] [--budget 0.08] [--limit 60]
    <launcher> python torch_speed.py --out FILE --measure-init weft

For torch_compare and torch_device. Rank 0 writes FILE after each row, so that a run that fails or is stopped leaves what it had.
With a device, ranks take those of the host in turns, and a time includes the device's synchronisation behind a batch of calls.
Where each rank has a device of its own, nccl takes part.
"""
import argparse
import json
import os
import statistics
import time

OPERATIONS = ["all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"]
SIZES = [4, 1024, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20]
BACKENDS = ["gloo", "weft", "nccl"]


def choose_device(torch, kind):
    """The rank's device; ranks share what the host has."""
    if kind == "cpu":
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    return torch.device("cuda", torch.cuda.current_device())


def operation(dist, torch, name, nbytes, group, size, device):
    """A function that does it once; the bytes are of a rank's whole buffer, as in OSU's benchmarks."""
    count = max(nbytes // 4, size)
    whole = torch.zeros(count // size * size, device=device)
    block = torch.zeros(count // size, device=device)
    other = torch.zeros_like(whole)
    return {
        "all_reduce": lambda: dist.all_reduce(whole, group=group),
        "broadcast": lambda: dist.broadcast(whole, 0, group=group),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, block, group=group),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(block, whole, group=group),
        "all_to_all": lambda: dist.all_to_all_single(other, whole, group=group),
    }[name]


def training_step(torch, device, group=None):
    """A step of a network of a million parameters; without a group, no communication."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(),
                                torch.nn.Linear(1024, 640), torch.nn.ReLU(), torch.nn.Linear(640, 128)).to(device)
    if group is not None:
        model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(8, 256, device=device)

    def step():
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
    return step


class Rank:
    def __init__(self, torch, dist, options):
        self.torch, self.dist, self.options = torch, dist, options
        self.deadline = time.monotonic() + options.limit
        self.device = choose_device(torch, options.device)
        self.rows = {}

    def synchronize(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def measure(self, call, iterations):
        self.synchronize()
        start = time.perf_counter()
        for _ in range(iterations):
            call()
        self.synchronize()
        return (time.perf_counter() - start) / iterations * 1e6

    def greatest(self, value):
        x = self.torch.tensor([value], dtype=self.torch.float64)
        self.dist.all_reduce(x, self.dist.ReduceOp.MAX)
        return x.item()

    def start(self, makers):
        """Those calls that work at all ranks, and what the others say."""
        calls, errors = {}, {}
        for name, make in makers.items():
            said = ""
            try:
                calls[name] = make()
                calls[name]()
                self.synchronize()
            except Exception as error:  # a back end that does not have the operation, or not on the device
                said = f"{type(error).__name__}: {error}"[:300]
            if self.greatest(float(said != "")):
                calls.pop(name, None)
                errors[name] = said or "failed at another rank"
        return calls, errors

    def in_turns(self, makers):
        """Medians of the calls, which are measured in turns."""
        calls, errors = self.start(makers)
        times = {name: [] for name in calls}
        iterations = {}
        for name, call in calls.items():
            self.dist.barrier()
            once = self.greatest(self.measure(call, 3))
            iterations[name] = int(max(3, min(2000, self.options.budget * 1e6 / once)))
        for _ in range(self.options.repeats):
            for name, call in calls.items():
                self.dist.barrier()
                times[name].append(self.greatest(self.measure(call, iterations[name])))
        medians = {name: statistics.median(values) for name, values in times.items()}
        return {**medians, "errors": errors} if errors else medians

    def row(self, key, makers):
        """False: the time is over."""
        if self.greatest(time.monotonic() - self.deadline) > 0:
            return False
        self.rows[key] = self.in_turns(makers)
        self.write(self.rows)
        return True

    def write(self, data):
        if self.dist.get_rank() == 0:
            with open(self.options.out + ".new", "w", encoding="utf-8") as out:
                json.dump(data, out)
            os.replace(self.options.out + ".new", self.options.out)

    def groups(self):
        groups = {"gloo": self.dist.group.WORLD, "weft": self.dist.new_group(backend="weft")}
        local = int(os.environ.get("LOCAL_WORLD_SIZE", self.dist.get_world_size()))
        if self.device.type == "cuda" and self.torch.cuda.device_count() >= local:
            groups["nccl"] = self.dist.new_group(backend="nccl")
        return groups

    def run(self):
        dist, torch, device = self.dist, self.torch, self.device
        dist.init_process_group(backend="gloo")
        size, groups = dist.get_world_size(), self.groups()
        steps = {b: (lambda g=g: training_step(torch, device, g)) for b, g in groups.items()}
        self.row("ddp step", {**steps, "none": lambda: training_step(torch, device)})
        self.compare_layers(size)
        for nbytes in self.options.sizes:  # the longest last, where the time may be over
            self.compare_operations(groups, size, nbytes)
        dist.barrier()
        dist.destroy_process_group()

    def compare_operations(self, groups, size, nbytes):
        for name in OPERATIONS:
            makers = {b: (lambda g=g: operation(self.dist, self.torch, name, nbytes, g, size, self.device))
                      for b, g in groups.items()}
            self.row(f"{name} {nbytes}", makers)

    def compare_layers(self, size):
        """What a call costs where there is nobody to talk to."""
        import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers "fake")

        alone = [self.dist.new_group([r], backend="weft") for r in range(size)][self.dist.get_rank()]
        fake = [self.dist.new_group([r], backend="fake") for r in range(size)][self.dist.get_rank()]
        x = self.torch.zeros(1, device=self.device)
        self.row("layers", {"fake": lambda: lambda: self.dist.all_reduce(x, group=fake),
                            "weft": lambda: lambda: self.dist.all_reduce(x, group=alone)})

    def measure_init(self, backend):
        """What a group costs at the start of a program."""
        begin = time.perf_counter()
        self.dist.init_process_group(backend=backend)
        self.dist.all_reduce(self.torch.zeros(1, device=self.device))
        self.synchronize()
        self.write(time.perf_counter() - begin)
        self.dist.destroy_process_group()


def operation_of(key):
    """(name, bytes) of a row; the bytes are empty if it has none."""
    name, _, nbytes = key.partition(" ")
    return (name, nbytes) if name in OPERATIONS else (key, "")


def place_in_table(item):
    """By operation and bytes, and then the other rows in their order."""
    name, nbytes = operation_of(item[0])
    return (OPERATIONS.index(name), int(nbytes)) if nbytes else (len(OPERATIONS), 0)


def table(rows, ranks):
    """In Markdown. A dash: the back end does not have the operation, or has failed."""
    backends = [b for b in BACKENDS if any(b in row for row in rows.values())] or BACKENDS[:2]
    lines = [f"## {ranks} ranks", "", "| operation | bytes | " + " | ".join(f"{b} (us)" for b in backends) + " | weft / gloo |",
             "| --- | ---: |" + " ---: |" * (len(backends) + 1)]
    for key, row in sorted(rows.items(), key=place_in_table):
        if key == "layers":
            continue
        name, nbytes = operation_of(key)
        ratio = f"{row['weft'] / row['gloo']:.3f}" if "weft" in row and "gloo" in row else "-"
        lines.append(f"| {name} | {nbytes} | " + " | ".join(f"{row[b]:.1f}" if b in row else "-" for b in backends) + f" | {ratio} |")
    lines.append("")
    layers, step = rows.get("layers", {}), rows.get("ddp step", {})
    if "weft" in layers and "fake" in layers:
        lines += [f"A call on a group of one rank takes {layers['weft']:.1f} us, of which torch itself takes "
                  f"{layers['fake']:.1f} us (its back end `fake`)."]
    if "none" in step:
        lines += [f"The step without communication takes {step['none']:.0f} us."]
    errors = {f"{b}: {said}" for row in rows.values() for b, said in row.get("errors", {}).items()}
    return "\n".join([*lines, *(f"- {error}" for error in sorted(errors)), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--sizes", default=SIZES, type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--repeats", default=5, type=int)
    parser.add_argument("--budget", default=0.08, type=float, help="seconds of one measurement")
    parser.add_argument("--limit", default=1e9, type=float, help="seconds; rows after that are left out")
    parser.add_argument("--measure-init", metavar="BACKEND")
    options = parser.parse_args()
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    rank = Rank(torch, dist, options)
    if options.measure_init:
        return rank.measure_init(options.measure_init)
    return rank.run()


if __name__ == "__main__":
    main()
