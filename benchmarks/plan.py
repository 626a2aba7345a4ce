# SPDX-License-Identifier: BSD-3-Clause
"""What compare runs: the rows of its tables."""
import collections

# name        as in --only and in the tables
# program     of this folder; None: only the launcher is timed, with `true`
# sizes       what -s gets; "" for programs without sizes
# field, unit what is taken from the program's output (wall: the whole job), and its unit
# scale       multiplies the field
# is_rate     more is better
# lead        --lead: where in a page the buffers begin
Row = collections.namedtuple("Row", "name program sizes field unit scale is_rate lead", defaults=[""])


def time_row(name, sizes=""):
    return Row(name, f"weft_{name}", sizes, "value", "us", 1, False)


def pack_row(direction, layout):
    return Row(f"{direction}_{layout}", f"weft_{direction}_{layout}", "4K,64K", "value", "MB/s", 1, True)


LAYOUTS = ["vector4", "vector8", "vector24", "face", "particles", "pairs", "listed", "ragged", "two_vectors"]

JOBS = [Row("job", "weft_init", "", "wall", "ms", 1e3, False), Row("launch", None, "", "wall", "ms", 1e3, False)]

FEW = [
    time_row("latency", "0,8,1K,4K,64K,1M"),
    Row("bw", "weft_bw", "1K,16K,64K,256K,1M,4M", "value", "MB/s", 1, True),
    Row("bibw", "weft_bibw", "64K,1M", "value", "MB/s", 1, True),
    # As malloc() gives large buffers; and what is received lies 16 bytes behind what is sent, modulo the page.
    Row("bw_malloc", "weft_bw", "64K,1M", "value", "MB/s", 1, True, "16:16"),
    Row("bw_behind", "weft_bw", "64K,1M", "value", "MB/s", 1, True, "16:32"),
    Row("latency_behind", "weft_latency", "64K,1M", "value", "us", 1, False, "16:32"),
    Row("rate", "weft_mbw_mr", "8", "second", "M/s", 1e-6, True),
    time_row("barrier"),
    time_row("allreduce", "8,1K,64K,1M"),
    time_row("bcast", "8,64K,1M"),
    time_row("reduce", "8,1M"),
    time_row("alltoall", "8,64K"),
    time_row("allgather", "8,64K"),
    time_row("gather", "8"),
    time_row("scatter", "8"),
    time_row("reduce_scatter", "8,64K"),
    time_row("scan", "8"),
    time_row("allreduce_init", "8,64K"),
    time_row("neighbor_alltoall", "8,4K,64K"),
    time_row("neighbor_messages", "8,4K,64K"),
    *[pack_row(direction, layout) for layout in LAYOUTS for direction in ("pack", "unpack")],
    *JOBS,
]

# With a few ranks a core.
SHARED = [
    time_row("latency", "8"),
    time_row("barrier"),
    time_row("allreduce", "8,1K,64K"),
    time_row("bcast", "8,64K"),
    time_row("reduce", "8"),
    time_row("alltoall", "8,1K"),
    time_row("allgather", "8,64K"),
    time_row("gather", "8"),
    time_row("scatter", "8"),
    time_row("reduce_scatter", "8,64K"),
    time_row("scan", "8"),
    time_row("neighbor_alltoall", "8"),
    *JOBS,
]

# With more of them: fewer sizes, since some libraries then need 0.1 s for a message.
CROWDED = [
    time_row("barrier"),
    time_row("allreduce", "8,64K"),
    time_row("bcast", "8"),
    time_row("alltoall", "8,4K"),
    time_row("allgather", "8"),
    *JOBS,
]

# Between hosts: rows for two ranks, one on each host, and rows for more.
TWO_HOSTS = [
    time_row("latency", "0,8,1K,4K,64K,1M"),
    Row("bw", "weft_bw", "1K,16K,64K,256K,1M,4M", "value", "MB/s", 1, True),
    Row("bibw", "weft_bibw", "64K,1M", "value", "MB/s", 1, True),
    Row("rate", "weft_mbw_mr", "8", "second", "M/s", 1e-6, True),
    time_row("barrier"),
    time_row("allreduce", "8,64K,1M"),
    *JOBS,
]

MANY_HOSTS = [
    time_row("barrier"),
    time_row("allreduce", "8,1K,4K,64K"),
    time_row("bcast", "8,4K,64K"),
    time_row("reduce", "8"),
    time_row("alltoall", "8,1K,4K"),
    time_row("allgather", "8,1K"),
    *JOBS,
]

QUICK = ("latency", "bw", "rate", "barrier", "allreduce", "job")


def rows(ranks, cores, only, is_quick):
    """The rows for this number of ranks, in the order of the tables."""
    table = FEW if ranks <= max(cores, 2) else SHARED if ranks <= 4 * cores else CROWDED
    return select(table, only, is_quick)


def rows_on_hosts(ranks, only, is_quick):
    return select(TWO_HOSTS if ranks == 2 else MANY_HOSTS, only, is_quick)


def select(table, only, is_quick):
    return [row for row in table if (row.name in only if only else not is_quick or row.name in QUICK)]


def names():
    return [row.name for row in FEW]


def in_words(bytes):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes >= factor and bytes % factor == 0:
            return f"{bytes // factor} {unit}"
    return f"{bytes} B"


def title(name, bytes):
    """The name of a row in tables and plots."""
    words = {"job": "whole job: init, finalize", "launch": "mpirun true", "rate": "message rate",
             "bw_malloc": "bw (malloc)", "bw_behind": "bw (16 B behind)",
             "latency_behind": "latency (16 B behind)"}.get(name, name)
    row = next(r for r in FEW if r.name == name)
    return f"{words} {in_words(bytes)}" if row.sizes else words
