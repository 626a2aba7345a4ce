# SPDX-License-Identifier: BSD-3-Clause
"""What Weft wants to reach on one host, beside the best other library, and in how many starts it does."""
import collections
import statistics

import plan

# ranks    of the rows
# names    rows of plan.py
# sizes    bytes; None: all of the row
# goal     most of Weft's time over the best other's (rates turned over)
# stretch  what would be better still
# most     most of the figure itself, whatever others need; None: no such limit
Target = collections.namedtuple("Target", "ranks names sizes goal stretch most", defaults=[None])

# What does the work of another collective, or of several one after the other, and should not take longer (Traeff, Gropp and Thakur,
# "Self-consistent MPI performance guidelines", 2010): row, bytes (None: each size), rows that it stands against, their bytes (None: the same).
CONSISTENT = [("barrier", 0, ("allreduce",), 8), ("allreduce", None, ("reduce", "bcast"), None), ("allgather", None, ("alltoall",), None),
              ("gather", None, ("allgather",), None), ("scatter", None, ("alltoall",), None), ("reduce", None, ("allreduce",), None),
              ("reduce_scatter", None, ("allreduce",), None), ("bcast", None, ("allreduce",), None)]

KIB, MIB = 1 << 10, 1 << 20
SMALL_BLOCKS = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter", "scan")
STREAMS = ("bw", "bw_malloc", "bw_behind")

TARGETS = [
    Target(2, ("latency",), (0, 8), 0.6, 0.45),
    Target(2, ("latency",), (KIB, 4 * KIB, 64 * KIB), 0.7, 0.5),
    Target(2, ("rate",), None, 1 / 1.6, 1 / 2),
    Target(2, STREAMS, (16 * KIB,), 1 / 1.2, 1 / 2.5),
    Target(2, STREAMS, (64 * KIB,), 1 / 1.4, 1 / 2.5),
    Target(2, STREAMS, (256 * KIB, MIB, 4 * MIB), 1 / 1.8, 1 / 2.5),
    Target(2, ("barrier",), None, 0.5, 0.3),
    Target(2, ("allreduce",), None, 0.5, 0.3),
    Target(2, ("bcast", "reduce"), (8,), 0.6, 0.4),
    Target(2, ("bcast", "reduce"), (64 * KIB, MIB), 0.7, 0.4),
    Target(2, SMALL_BLOCKS, (8,), 0.5, 0.25),
    Target(2, SMALL_BLOCKS, (64 * KIB,), 0.7, 0.25),
    Target(2, ("posted", "unexpected"), None, 0.1, 0.05),
    Target(2, ("overlap",), None, 1.0, 1 / 1.2),
    *[Target(ranks, tuple(row.name for row in plan.SHARED), None, 0.8, 0.4) for ranks in (4, 8)],
    Target(16, ("barrier", "allreduce", "bcast", "alltoall"), (0, 8), 0.4, 0.2, 100),
    Target(16, ("allreduce",), (64 * KIB,), 0.6, 0.4),
    Target(16, ("idle",), None, 1.0, 1.0, 2),
    Target(2, ("job",), None, 0.7, 0.4),
    Target(16, ("job",), None, 0.7, 0.4),
]


def target_of(ranks, name, bytes):
    """The target of a cell, or None."""
    for target in TARGETS:
        if target.ranks == ranks and name in target.names and (target.sizes is None or bytes in target.sizes):
            return target
    return None


def starts(data, mode_of):
    """(ranks, row, bytes) -> for each repetition of one mode: the mode, and library -> value."""
    found = {}
    for run in data["runs"]:
        mode = mode_of(run, data["settings"]["mode_bounds_ns"])
        for bytes, value in run["values"].items() if mode != "mixed" else ():
            cell = found.setdefault((run["ranks"], run["row"], int(bytes)), {})
            cell.setdefault((run["repetition"], mode), {})[run["mpi"]] = value
    return found


def verdict(target, ratios, values):
    """In how many starts the target is reached, and whether the median reaches more than that."""
    met = [ratio <= target.goal and (target.most is None or value <= target.most) for ratio, value in zip(ratios, values)]
    return f"{sum(met)} of {len(met)}" + (", stretch" if all(met) and statistics.median(ratios) <= target.stretch else "")


def lines(data, mode_of, cost):
    """A table: each target with the ratios of all starts. Nothing if data has no row with a target. Where ranks outnumber cores
    the others need the settings that only --node gives them."""
    shown = []
    for (ranks, name, bytes), repetitions in starts(data, mode_of).items():
        is_fair = data["settings"].get("node") or ranks <= data["machine"]["cores"]
        target = target_of(ranks, name, bytes) if is_fair else None
        pairs = [(cost(name, [v["weft"]]) / min(cost(name, [v[m]]) for m in v if m != "weft"), v["weft"])
                 for v in repetitions.values() if "weft" in v and len(v) > 1]
        if target and pairs:
            ratios, values = zip(*pairs)
            shown.append(f"| {ranks} | {plan.title(name, bytes)} | {target.goal:.2f}"
                         + (f", {target.most} {plan.named(name).unit}" if target.most else "")
                         + f" | {' '.join(f'{ratio:.2f}' for ratio in ratios)} | {verdict(target, ratios, values)} |")
    if shown:
        yield "\n## Targets\n"
        yield ("Weft / best in each start, the best being whichever library is the fastest in that start; starts in which the cores "
               "moved are left out. Whatever is missed is missed by the figures of this table alone: limits of the machine are below.\n")
        yield "| ranks | row | target | Weft / best in each start | reached in |"
        yield "|---|---|---|---|---|"
        yield from shown


def compared(found, ranks, rule):
    """(bytes, ratios of the starts in which all of the rule was measured in one mode) of each size."""
    name, only, others, their_bytes = rule
    for (n, row, bytes), repetitions in found.items():
        parts = [found.get((ranks, other, bytes if their_bytes is None else their_bytes), {}) for other in others]
        if (n, row) == (ranks, name) and only in (None, bytes):
            ratios = [values["weft"] / sum(part[start]["weft"] for part in parts) for start, values in repetitions.items()
                      if "weft" in values and all("weft" in part.get(start, ()) for part in parts)]
            if ratios:
                yield bytes, ratios


def consistency(data, mode_of):
    """A table: Weft's collectives beside others of Weft's that do the same work."""
    found = starts(data, mode_of)
    shown = [f"| {ranks} | {plan.title(rule[0], bytes)} | {' + '.join(rule[2])}{'' if rule[3] is None else f' {rule[3]} B'} | {statistics.median(ratios):.2f} |"
             for ranks in sorted({n for n, _, _ in found}) for rule in CONSISTENT for bytes, ratios in compared(found, ranks, rule)]
    if shown:
        yield "\n## Self-consistency\n"
        yield "Weft's time for a collective over that for others of Weft's which do its work, too: above 1 is more than it should be.\n"
        yield "| ranks | row | beside | median |"
        yield "|---|---|---|---|"
        yield from shown
