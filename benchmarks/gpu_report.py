# SPDX-License-Identifier: BSD-3-Clause
"""table.md and plot.svg of a GPU session from its data.json: Weft against staging, and against the
targets."""
import collections
import json
import math
import os
import statistics

from plan import in_words
from report import number

COLOURS = {1: "#888888", 2: "#d1495b", 4: "#00798c", 8: "#edae49", 16: "#7b5ea7"}
KIB, MIB = 1 << 10, 1 << 20

# A benchmark, the memory of its buffers, and its number of ranks.
Key = collections.namedtuple("Key", "name memory ranks")

# bound is "at most" or "at least"; value is the worst one measured, and where says at which size.
Target = collections.namedtuple("Target", "text bound wanted value where")


def is_rate(unit):
    return unit.startswith("Bandwidth")


def cells(data):
    """Key -> bytes -> staged (bool) -> values of the turns, and Key -> unit."""
    found, units = {}, {}
    for run in data["runs"]:
        key = Key(run["name"], run["memory"], run["ranks"])
        units[key] = run["unit"]
        found.setdefault(key, {}).setdefault(run["bytes"], {}).setdefault(run["staged"], []).append(run["value"])
    return found, units


def gain(cell, unit):
    """How many times faster than staged, by the medians; None if a measurement is missing."""
    if len(cell) < 2:
        return None
    direct, staged = statistics.median(cell[False]), statistics.median(cell[True])
    if not direct or not staged:
        return None
    return direct / staged if is_rate(unit) else staged / direct


def methods(data):
    """Key -> bytes -> the methods by which Weft did a benchmark, in words."""
    found = {}
    for run in data["runs"]:
        if run.get("method"):
            names = found.setdefault(Key(run["name"], run["memory"], run["ranks"]), {}).setdefault(run["bytes"], [])
            names += [run["method"]] * (run["method"] not in names)
    return found


class Session:
    def __init__(self, data):
        self.data, self.methods = data, methods(data)
        self.cells, self.units = cells(data)
        self.limits = {(l["limit"], l["bytes"]): l["us"] for l in data["limits"]}

    def median(self, key, size, staged=False):
        values = self.cells.get(key, {}).get(size, {}).get(staged)
        return statistics.median(values) if values else None

    def gains(self, name, ranks, least, most, memory="D D"):
        """Size -> gain, for the sizes from least to most."""
        key = Key(name, memory, ranks)
        found = {size: gain(cell, self.units[key]) for size, cell in self.cells.get(key, {}).items() if least <= size <= most}
        return {size: value for size, value in found.items() if value}

    def copy_rate(self):
        """GB/s of the largest copy on the device."""
        sizes = [size for limit, size in self.limits if limit == "copy on device"]
        return max(sizes) / self.limits["copy on device", max(sizes)] * 1e-3 if sizes else None

    def copy_us(self, size):
        """Microseconds of a copy of so many bytes on the device, its launch included: between two
        measured sizes on the line through both, above them by the rate of the largest."""
        known = sorted((bytes_, us) for (limit, bytes_), us in self.limits.items() if limit == "copy on device")
        for (low, low_us), (high, high_us) in zip(known, known[1:]):
            if low <= size <= high:
                return low_us + (high_us - low_us) * (size - low) / (high - low)
        return size / known[-1][0] * known[-1][1] if known and size > known[-1][0] else None

    def ranks_of(self, name):
        return sorted({key.ranks for key in self.cells if key.name == name and key.memory == "D D"})


def worst(values, bound):
    """(value, where) of the value that is furthest from the target."""
    if not values:
        return None, "not measured"
    where = (max if bound == "at most" else min)(values, key=values.get)
    return values[where], where


def target(text, bound, wanted, values):
    return Target(text, bound, wanted, *worst(values, bound))


def short_time(ranks):
    """The wanted time of a short allreduce over staging: for two ranks a launch and a notification
    alone are half of what staging takes."""
    return 0.5 if ranks < 4 else 0.4 if ranks < 8 else 0.3


def allreduce_targets(s):
    for ranks in s.ranks_of("allreduce"):
        for least, most, wanted in ((8, 8 * KIB, short_time(ranks)), (16 * KIB, 64 * KIB, 0.3)):
            times = {in_words(size): 1 / g for size, g in s.gains("allreduce", ranks, least, most).items()}
            yield target(f"allreduce, {ranks} ranks, {in_words(least)} to {in_words(most)}: time over staging", "at most", wanted, times)
        large = {in_words(size): g for size, g in s.gains("allreduce", ranks, MIB, 256 * MIB).items()}
        yield target(f"allreduce, {ranks} ranks, 1 MiB to 256 MiB: bandwidth over staging", "at least", 5, large)
        yield target(f"allreduce, {ranks} ranks, 1 MiB to 256 MiB: speed over a copy of all ranks' bytes", "at least", 0.5, memory_shares(s, ranks))


def memory_shares(s, ranks):
    """Each rank's vector is read and its result written, as a copy of ranks * size bytes reads and
    writes every byte."""
    key = Key("allreduce", "D D", ranks)
    sizes = [size for size in s.cells.get(key, {}) if size >= MIB and s.copy_us(ranks * size) and s.median(key, size)]
    return {in_words(size): s.copy_us(ranks * size) / s.median(key, size) for size in sizes}


def pair_targets(s):
    small = {in_words(size): 1 / g for size, g in s.gains("latency", 2, 8, 8).items()}
    yield target("latency D D, 8 B: time over staging", "at most", 0.6, small)
    medium = {in_words(size): g for size, g in s.gains("bw", 2, 64 * KIB, MIB).items()}
    yield target("bandwidth D D, 64 KiB to 1 MiB: over staging", "at least", 5, medium)
    key, rate = Key("bw", "D D", 2), s.copy_rate()
    large = [size for size in s.cells.get(key, {}) if size >= 16 * MIB and rate and s.median(key, size)]
    yield target("bandwidth D D, from 16 MiB: over a copy on the device", "at least", 0.8,
                 {in_words(size): s.median(key, size) * 1e-3 / rate for size in large})


def vector_targets(s):
    keys = [key for key in s.cells if key.name == "latency" and "blocks" in key.memory]
    copies, contiguous = {}, {}
    for key in keys:
        for size, cell in s.cells[key].items():
            where = f"{key.memory.partition(', ')[2]}, {in_words(size)}"
            plain, strided = s.median(Key("latency", "D D", 2), size), s.median(key, size)
            if gain(cell, s.units[key]) and "blocks of 8 B" in key.memory and size >= 64 * KIB:
                copies[where] = gain(cell, s.units[key])
            if plain and strided and size >= MIB:
                contiguous[where] = plain / strided
    yield target("blocks of 8 B, from 64 KiB: over copies of each block", "at least", 20, copies)
    yield target("blocks, from 1 MiB: speed over that of a contiguous message", "at least", 0.5, contiguous)


def host_target(s):
    """Nanoseconds. The same library with devices switched off stands for one without support for
    devices."""
    with_device = s.median(Key("host latency", "H H", 2), 8)
    without = s.median(Key("host latency, no device", "H H", 2), 8)
    known = {"8 B": (with_device - without) * 1e3} if with_device and without else {}
    yield target("host latency, 8 B: nanoseconds over WEFT_DEVICE=no", "at most", 3, known)


def targets(s):
    return [*allreduce_targets(s), *pair_targets(s), *vector_targets(s), *host_target(s)]


def is_met(t):
    return t.value is not None and (t.value <= t.wanted if t.bound == "at most" else t.value >= t.wanted)


def targets_text(s):
    yield "\n## Targets\n"
    yield "| target | wanted | measured (the worst) | at | met |"
    yield "|---|---|---|---|---|"
    for t in targets(s):
        shown = "-" if t.value is None else f"{t.value:.3g}"
        yield f"| {t.text} | {t.bound} {t.wanted:g} | {shown} | {t.where} | {'yes' if is_met(t) else '-' if t.value is None else 'no'} |"


def rows_text(rows):
    """Counts, and whole outputs of rows that failed."""
    counts = collections.Counter(row["status"] for row in rows)
    seconds = sum(row.get("seconds", 0) for row in rows)
    yield ", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "skipped", "not run")) + f"; {seconds:.0f} s in all."
    for row in rows:
        if row["status"] == "failed":
            yield f"\n**{row['name']}**: {row['why']}, {row.get('seconds', 0):.1f} s\n\n```\n{row['output']}\n```"


def tests_text(data):
    yield "\n## The simulated driver's tests on this driver\n"
    yield from rows_text(data.get("simcuda", []))
    yield "\n## Tests on this driver\n"
    yield from rows_text(data["tests"])
    slowest = sorted(data["tests"], key=lambda row: -row.get("seconds", 0))[:5]
    yield "\nThe longest: " + "; ".join(f"{row['name']} {row.get('seconds', 0):.1f} s" for row in slowest) + "."
    yield "\ncompute-sanitizer: " + ("; ".join(f"{t['name']} {t['status']}" for t in data["sanitizer"]) or "not run") + "."


def facts_text(data):
    for fact in data.get("facts", []):
        yield f"\n## {fact['fact']}\n\n```\n{fact['text']}\n```"


def limits_text(s):
    yield "\n## The card\n"
    yield "| | bytes | us | GB/s |"
    yield "|---|---|---|---|"
    for (limit, size), us in s.limits.items():
        yield f"| {limit} | {in_words(size) if size else ''} | {number(us)} | {number(size / us * 1e-3) if 'copy' in limit else ''} |"


def questions_text(data):
    if data.get("questions"):
        yield "\n## What this driver does\n"
        yield "| | |"
        yield "|---|---|"
    for question in data.get("questions", []):
        yield f"| {question['question']} | {question['answer']} |"


def values_text(values):
    if not values:
        return "-"
    text = number(statistics.median(values))
    return f"{text} ({number(min(values))}..{number(max(values))})" if len(values) > 1 else text


def section_text(s, key):
    unit = s.units[key]
    yield f"\n## {key.name}, {key.ranks} ranks, {key.memory}\n"
    methods = s.methods.get(key, {})
    yield f"| | Weft, {unit} | staged | times faster |" + " method |" * bool(methods)
    yield "|---|---|---|---|" + "---|" * bool(methods)
    for size, cell in sorted(s.cells[key].items()):
        faster = gain(cell, unit)
        method = f" {' or '.join(methods.get(size, ['-']))} |" if methods else ""
        yield (f"| {in_words(size)} | {values_text(cell.get(False))} | {values_text(cell.get(True))} | "
               f"{f'{faster:.2f}' if faster else '-'} |{method}")


def failures_text(data):
    if data["failures"]:
        yield "\n## Benchmarks that did not end well\n"
    for failure in data["failures"]:
        yield f"- `{failure['command']}`: {failure['status']}: {failure['errors']}"
    if data["left_out"]:
        yield "\nNo time was left for: " + "; ".join(f"`{command}`" for command in data["left_out"]) + "."


def table(data):
    """The text of table.md."""
    s, machine = Session(data), data["machine"]
    yield f"# Weft {data['commit']} on device memory, {data['date']}\n"
    yield (f"{data['device']['name']}, driver {data['device']['driver']}; {machine['cpu']}, {machine['cores']} cores, "
           f"{machine['memory_GiB']} GiB, Linux {machine['kernel']}, {machine['system']}.")
    if data.get("earlier"):
        yield "\nIt goes on from " + ", ".join(f"{one['commit']} of {one['date']}" for one in data["earlier"]) + "."
    if data["settings"]["simulated"]:
        yield "\n**A simulated driver: the numbers mean nothing.**"
    yield ("\nMedian (least..greatest) of the turns. Staged: the same program copies device memory to pinned host memory, calls "
           "MPI there and copies back, all of it timed; strided messages by a copy a block. All ranks share the device.")
    for part in (targets_text(s), tests_text(data), failures_text(data), limits_text(s), questions_text(data)):
        yield from part
    for key in sorted(s.cells, key=lambda k: (k.name != "allreduce", k.name, k.memory, k.ranks)):
        yield from section_text(s, key)
    yield from facts_text(data)


class Plot:
    """A dot for each benchmark, size and number of ranks: how many times faster than staged, on a logarithmic axis."""
    LEFT, WIDTH, ROW, LOW, HIGH = 330, 520, 17, 0.25, 256

    def __init__(self, data):
        self.session, self.parts, self.y = Session(data), [], 24

    def x(self, value):
        share = math.log(min(max(value, self.LOW), self.HIGH) / self.LOW) / math.log(self.HIGH / self.LOW)
        return self.LEFT + share * self.WIDTH

    def text(self, x, y, words, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y}" {more}>{words}</text>')

    def rows(self):
        """(name, memory) -> size -> ranks -> gain."""
        found = {}
        for key, sizes in self.session.cells.items():
            for size, cell in sizes.items():
                faster = gain(cell, self.session.units[key])
                if faster:
                    found.setdefault((key.name, key.memory), {}).setdefault(size, {})[key.ranks] = faster
        return sorted(found.items(), key=lambda item: (item[0][0] != "allreduce", item[0]))

    def legend(self):
        self.text(20, self.y, "Times faster than staging through pinned host memory", 'font-weight="bold"')
        for i, ranks in enumerate((2, 4, 8, 16)):
            self.parts.append(f'<circle cx="{420 + 80 * i}" cy="{self.y - 4}" r="4" fill="{COLOURS[ranks]}"/>')
            self.text(430 + 80 * i, self.y, f"{ranks} ranks")
        self.y += 16

    def block(self, name, memory, sizes):
        self.y += 10
        top, bottom = self.y, self.y + self.ROW * len(sizes)
        for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256):
            colour = "#222" if tick == 1 else "#ddd"
            self.parts.append(f'<line x1="{self.x(tick):.1f}" y1="{top}" x2="{self.x(tick):.1f}" y2="{bottom}" stroke="{colour}"/>')
            self.text(self.x(tick), bottom + 13, f"{tick:g}", 'text-anchor="middle" fill="#666" font-size="10"')
        for size, ranks in sorted(sizes.items()):
            self.y += self.ROW
            self.text(self.LEFT - 10, self.y - 4, f"{name} {memory} {in_words(size)}", 'text-anchor="end"')
            for count, faster in sorted(ranks.items()):
                self.parts.append(f'<circle cx="{self.x(faster):.1f}" cy="{self.y - 8}" r="4" fill="{COLOURS.get(count, "#000")}">'
                                  f'<title>{count} ranks: {faster:.2f}</title></circle>')
        self.y = bottom + 16

    def svg(self):
        self.legend()
        for (name, memory), sizes in self.rows():
            self.block(name, memory, sizes)
        size = f'width="{self.LEFT + self.WIDTH + 40}" height="{self.y + 10}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
                '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def write(folder):
    """table.md and plot.svg beside folder/data.json."""
    with open(os.path.join(folder, "data.json")) as file:
        data = json.load(file)
    with open(os.path.join(folder, "table.md"), "w") as file:
        file.write("\n".join(table(data)) + "\n")
    with open(os.path.join(folder, "plot.svg"), "w") as file:
        file.write(Plot(data).svg())
