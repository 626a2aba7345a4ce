# SPDX-License-Identifier: BSD-3-Clause
"""table.md and plot.svg from data.json: medians and spreads, one section for each number of ranks and mode."""
import collections
import json
import math
import os
import statistics

import plan
import targets

COLOURS = ("#222222", "#d1495b", "#00798c", "#edae49", "#7b5ea7", "#3a7d44", "#b56576", "#5c80bc")

LEAST = 1e-3        # stands for a figure that is zero: nothing is hidden, no processor is used

BOUND = "sockets"   # bare_sockets, shown beside the libraries

# On several hosts a library so many times slower than the best at every size is not run again.
HOPELESS = 30

MODES = ("close", "near", "far")

# One number of ranks in one mode; cells: (row's name, bytes) -> library's name -> the values of its runs.
Section = collections.namedtuple("Section", "ranks mode cells")


def mode_of(run, bounds_ns):
    """close, near or far, if the probes before and after the run agree; mixed if the cores
    moved."""
    modes = {MODES[sum(ns >= bound for bound in bounds_ns)] for ns in run["line_ns"]}
    return modes.pop() if len(modes) == 1 else "mixed"


def sections(data):
    """Sections, each with the runs of one mode, and the number of mixed runs."""
    found, mixed = {}, 0
    for run in data["runs"]:
        mode = mode_of(run, data["settings"]["mode_bounds_ns"])
        mixed += mode == "mixed"
        if mode == "mixed" or not run["values"]:
            continue
        cells = found.setdefault((run["ranks"], mode), {})
        for bytes, value in run["values"].items():
            cells.setdefault((run["row"], int(bytes)), {}).setdefault(run["mpi"], []).append(value)
    order = plan.names()
    return [Section(ranks, mode, dict(sorted(cells.items(), key=lambda c: (order.index(c[0][0]), c[0][1]))))
            for (ranks, mode), cells in sorted(found.items(), key=lambda s: (s[0][0], MODES.index(s[0][1])))], mixed


def most_seen(found):
    """Of the sections of each number of ranks the one with the most values."""
    best = {}
    for section in found:
        values = sum(len(values) for cell in section.cells.values() for values in cell.values())
        best.setdefault(section.ranks, []).append((values, section))
    return [max(some, key=lambda s: s[0])[1] for some in best.values()]


def is_rate(name):
    return plan.named(name).is_rate


def unit(name):
    return plan.named(name).unit


def cost(name, values):
    """The figure that is compared: less is better, also for rates. Of the time that computing hides, it is what stays to be seen."""
    median = max(statistics.median(values), LEAST)
    if is_rate(name) and unit(name) == "%":
        return max(100 - median, LEAST)
    return 1 / median if is_rate(name) else median


def number(value):
    """At least three significant figures, and no exponent."""
    return f"{value:.{max(0, 2 - int(math.floor(math.log10(value))))}f}" if value > 0 else "0"


def best_peer(name, cell):
    costs = {mpi: cost(name, values) for mpi, values in cell.items() if mpi not in ("weft", BOUND)}
    return min(costs, key=costs.get) if costs else None


def ratio(name, cell):
    """Weft's cost over the best other library's: below 1 Weft is faster. None if either is
    missing."""
    best = best_peer(name, cell)
    return cost(name, cell["weft"]) / cost(name, cell[best]) if best and "weft" in cell else None


def cell_text(values, is_best):
    text = number(statistics.median(values))
    text = f"**{text}**" if is_best else text
    return f"{text} ({number(min(values))}..{number(max(values))})" if len(values) > 1 else text


def status_of(data, mpi, name, ranks):
    """Why a cell is empty."""
    statuses = [r["status"] for r in data["runs"] if (r["mpi"], r["row"], r["ranks"]) == (mpi, name, ranks)]
    return next((s for s in ("timeout", "failed") if s in statuses), "-")


def table_row(data, section, key):
    name, bytes = key
    cell = section.cells[key]
    best = min(cell.keys() - {BOUND} or cell, key=lambda mpi: cost(name, cell[mpi]))
    shown = [cell_text(cell[m["name"]], m["name"] == best) if m["name"] in cell
             else status_of(data, m["name"], name, section.ranks) for m in data["mpis"]]
    runs = sorted({len(values) for values in cell.values()})
    against = ratio(name, cell)
    return [plan.title(name, bytes), unit(name), *shown, f"{against:.2f}" if against else "-",
            str(runs[0]) if len(runs) == 1 else f"{runs[0]}-{runs[-1]}"]


def missing_rows(data, section):
    """The rows that no library finished; they are shown, too."""
    ran = {r["row"] for r in data["runs"] if r["ranks"] == section.ranks}
    return sorted(ran - {name for name, _ in section.cells})


def section_title(data, section):
    hosts = data["settings"].get("hosts", 1)
    strangers = data["settings"].get("beside", 0)
    return (f"{section.ranks} ranks" + (f" on {hosts} hosts" if hosts > 1 else "") + (f" beside {strangers} strangers" if strangers else "")
            + f", cores {section.mode}")


def section_text(data, section):
    labels = [m["label"] for m in data["mpis"]]
    yield f"\n## {section_title(data, section)}\n"
    yield "| | unit | " + " | ".join(labels) + " | Weft / best | runs |"
    yield "|---|---|" + "---|" * (len(labels) + 2)
    for key in section.cells:
        yield "| " + " | ".join(table_row(data, section, key)) + " |"
    ratios = [r for r in (ratio(key[0], cell) for key, cell in section.cells.items()) if r]
    if ratios:
        mean = math.exp(statistics.mean(math.log(r) for r in ratios))
        yield f"\nWeft is ahead in {sum(r < 1 for r in ratios)} of {len(ratios)} rows; geometric mean of Weft / best: {mean:.2f}."
    missing = missing_rows(data, section)
    if missing:
        yield f"\nNo run of this mode: {', '.join(missing)}."


def table(data):
    """The text of table.md."""
    machine, settings = data["machine"], data["settings"]
    found, mixed = sections(data)
    yield f"# Weft {data['commit']} and other MPI libraries, {data['date']}\n"
    yield (f"{machine['cpu']}, {machine['cores']} {'virtual ' if machine['is_virtual'] else ''}cores, "
           f"{machine['memory_GiB']} GiB, Linux {machine['kernel']}, {machine['system']}.")
    is_on_hosts, strangers = settings.get("hosts", 1) > 1, settings.get("beside", 0)
    if strangers:
        yield f"Beside {strangers} processes that compute, each in a session of its own."
    yield (f"Median (least..greatest) of up to {settings['repetitions']} interleaved repetitions; "
           + ("TCP between hosts that are network namespaces of one machine, joined by a bridge (MTU 1500), and take its cores in turns."
              if is_on_hosts else
              "every library with its defaults, Open MPI with `--oversubscribe` where ranks outnumber cores."))
    yield ("Weft / best: time against the best of the others; for bandwidths and rates turned over, for what is hidden the rest, so that below 1 Weft is "
           "always the faster. The best is bold.")
    close, near = settings["mode_bounds_ns"]
    yield (f"Cores are close if a cache line takes less than {close:g} ns from one to the other, before and after the run, near "
           f"below {near:g} ns, else far. {mixed} of {len(data['runs'])} runs saw a change and are left out.")
    for section in found:
        yield from section_text(data, section)
    if not is_on_hosts and not strangers:
        yield from targets.lines(data, mode_of, cost)
        yield from targets.consistency(data, mode_of)
    if data.get("limits"):
        yield f"\n## Limits of the machine\n\nBy `node_limits.c`, at the beginning:\n\n```\n{data['limits']}```"
    yield "\nLibraries: " + "; ".join(dict.fromkeys(m["library"] for m in data["mpis"] if m["library"])) + "."
    if any(m.get("how", "defaults") != "defaults" for m in data["mpis"]):
        yield "\nSettings: " + "; ".join(f"{m['label']}: `{m['how']}`" for m in data["mpis"] if m["name"] != BOUND) + "."
    if is_on_hosts:
        if any(m["name"] == BOUND for m in data["mpis"]):
            yield "\nBare sockets: `bare_sockets.c`, `send` and `recv` in a loop without any library; it is no peer, and never the best."
        yield f"\nWhat is {HOPELESS} times slower than the best at every size has one run."


class Plot:
    """A dot for each library and row: its cost over Weft's, on a logarithmic axis; a line shows the spread. For each number of
    ranks the mode that was seen most; the table has the others."""

    LEFT, WIDTH, ROW, LOW, HIGH = 310, 600, 20, 0.25, 16.0

    def __init__(self, data):
        self.data, self.parts, self.y = data, [], 30
        self.colours = {m["name"]: COLOURS[i % len(COLOURS)] for i, m in enumerate(data["mpis"])}

    def x(self, relative):
        inside = min(max(relative, self.LOW), self.HIGH)
        return self.LEFT + self.WIDTH * math.log(inside / self.LOW) / math.log(self.HIGH / self.LOW)

    def text(self, x, y, words, more=""):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>')

    def line(self, x1, y1, x2, y2, more):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>')

    def legend(self):
        self.text(20, self.y, "Time relative to Weft (rates turned over): right of the line Weft is faster", 'font-weight="bold"')
        self.y += 22
        x = 20
        for mpi in self.data["mpis"]:
            wide = 30 + 7 * len(mpi["label"])
            if x + wide > self.LEFT + self.WIDTH:
                x, self.y = 20, self.y + 18
            self.parts.append(f'<circle cx="{x + 5}" cy="{self.y - 4}" r="4" fill="{self.colours[mpi["name"]]}"/>')
            self.text(x + 14, self.y, mpi["label"])
            x += wide
        self.y += 14

    def section(self, section):
        keys = [key for key, cell in section.cells.items() if "weft" in cell]
        self.y += 26
        self.text(20, self.y, section_title(self.data, section), 'font-weight="bold"')
        top, bottom = self.y + 8, self.y + 8 + self.ROW * len(keys)
        for tick in (0.25, 0.5, 1, 2, 4, 8, 16):
            self.line(self.x(tick), top, self.x(tick), bottom, f'stroke="{"#222" if tick == 1 else "#ddd"}"')
            self.text(self.x(tick), bottom + 14, f"{tick:g}", 'text-anchor="middle" fill="#666"')
        for key in keys:
            self.row(key, section.cells[key])
        self.y = bottom + 20

    def row(self, key, cell):
        name, bytes = key
        self.y += self.ROW
        self.text(self.LEFT - 10, self.y, plan.title(name, bytes), 'text-anchor="end"')
        ours = cost(name, cell["weft"])
        for mpi, values in cell.items():
            colour, y = self.colours[mpi], self.y - 4
            ends = [self.x(cost(name, [value]) / ours) for value in (min(values), max(values))]
            self.line(min(ends), y, max(ends), y, f'stroke="{colour}" stroke-opacity="0.4" stroke-width="3"')
            relative = cost(name, values) / ours
            self.parts.append(f'<circle cx="{self.x(relative):.1f}" cy="{y}" r="4" fill="{colour}">'
                              f'<title>{number(statistics.median(values))} {unit(name)}</title></circle>')
            if relative > self.HIGH:
                self.text(self.x(relative) + 7, self.y, "›", f'fill="{colour}"')

    def svg(self):
        self.legend()
        for section in most_seen(sections(self.data)[0]):
            self.section(section)
        size = f'width="{self.LEFT + self.WIDTH + 40}" height="{self.y + 10}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
                '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


def store(folder, data):
    """folder/data.json, a line a run, so that a new run is a small change of the file."""
    os.makedirs(folder, exist_ok=True)
    runs = ",\n".join("  " + json.dumps(run) for run in data["runs"])
    head = json.dumps({key: value for key, value in data.items() if key != "runs"}, indent=1)
    with open(os.path.join(folder, "data.json"), "w") as file:
        file.write(f'{head[:-2]},\n "runs": [\n{runs}\n ]\n}}\n')


def stored(folder):
    """What folder/data.json holds."""
    with open(os.path.join(folder, "data.json")) as file:
        return json.load(file)


def joined(old, new):
    """The runs of both, those of `new` as later repetitions."""
    first = 1 + max((run["repetition"] for run in old["runs"]), default=-1)
    runs = old["runs"] + [{**run, "repetition": run["repetition"] + first} for run in new["runs"]]
    mpis = {mpi["name"]: mpi for mpi in old["mpis"] + new["mpis"]}
    settings = {**old["settings"], "repetitions": first + new["settings"]["repetitions"]}
    return {**old, "mpis": list(mpis.values()), "settings": settings, "runs": runs}


def write(folder):
    """table.md and plot.svg beside folder/data.json."""
    data = stored(folder)
    with open(os.path.join(folder, "table.md"), "w") as file:
        file.write("\n".join(table(data)) + "\n")
    with open(os.path.join(folder, "plot.svg"), "w") as file:
        file.write(Plot(data).svg())
    print(os.path.join(folder, "table.md"))
