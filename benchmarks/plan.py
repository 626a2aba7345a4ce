# SPDX-License-Identifier: BSD-3-Clause
"""What compare runs: the rows of its tables."""
import collections

# name        as in --only and in the tables
# program     of this folder; None: only the launcher is timed, with `true`
# sizes       what -s gets; "" for programs without sizes
# field, unit what is taken from the program's output (wall: the whole job), and its unit
# scale       multiplies the field
# is_rate     more is better
# options     more that the program gets, as one text
Row = collections.namedtuple("Row", "name program sizes field unit scale is_rate options", defaults=[""])


def time_row(name, sizes="", options=""):
    return Row(name, f"weft_{name}", sizes, "value", "us", 1, False, options)


def pack_row(direction, layout):
    return Row(f"{direction}_{layout}", f"weft_{direction}_{layout}", "4K,64K", "value", "MB/s", 1, True)


LAYOUTS = ["vector4", "vector8", "vector24", "face", "particles", "pairs", "listed", "ragged", "two_vectors"]

JOBS = [Row("job", "weft_init", "", "wall", "ms", 1e3, False), Row("launch", None, "", "wall", "ms", 1e3, False)]

# One thread a rank that might have more, as all have in programs in Python; and four.
ONE_THREAD = [Row("alone_latency", "weft_mt_latency", "8", "value", "us", 1, False, "-T 1"),
              Row("alone_rate", "weft_mt_rate", "8", "second", "M/s", 1e-6, True, "-T 1")]
THREADS = [time_row("mt_latency", "8"), Row("mt_rate", "weft_mt_rate", "8", "second", "M/s", 1e-6, True), time_row("mt_allreduce", "8")]
# Threads of a rank that get in each other's way.
TWO_THREADS = [time_row("mt_tested", "8", "-T 2"), time_row("mt_blocked", "8", "-T 2"), time_row("mt_within", "8", "-T 2"),
               time_row("mt_self", "8", "-T 2")]

FEW = [
    time_row("latency", "0,8,1K,4K,16K,64K,1M"),
    Row("bw", "weft_bw", "1K,16K,64K,256K,1M,4M", "value", "MB/s", 1, True),
    Row("bibw", "weft_bibw", "64K,1M", "value", "MB/s", 1, True),
    # As malloc() gives large buffers; and what is received lies 16 bytes behind what is sent, modulo the page.
    Row("bw_malloc", "weft_bw", "64K,1M", "value", "MB/s", 1, True, "--lead 16:16"),
    Row("bw_behind", "weft_bw", "64K,1M", "value", "MB/s", 1, True, "--lead 16:32"),
    Row("latency_behind", "weft_latency", "64K,1M", "value", "us", 1, False, "--lead 16:32"),
    Row("rate", "weft_mbw_mr", "8", "second", "M/s", 1e-6, True),
    time_row("received", "8,1K"),
    time_row("probed", "8"),
    time_row("any", "8"),
    time_row("tested", "8"),
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
    time_row("neighbor_messages", "8,4K,16K,64K"),
    time_row("serve", "8,1K,16K"),
    Row("overlap", "weft_iallreduce", "64K,1M", "second", "%", 1, True),
    time_row("posted", "8"),
    time_row("unexpected", "8"),
    *ONE_THREAD,
    *THREADS,
    *TWO_THREADS,
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
    time_row("neighbor_messages", "8,4K,16K,64K"),
    time_row("serve", "8,1K,16K"),
    THREADS[-1],
    *JOBS,
]

# With more of them: fewer sizes, since some libraries then need 0.1 s for a message.
CROWDED = [
    time_row("barrier"),
    time_row("allreduce", "8,64K"),
    time_row("bcast", "8"),
    time_row("alltoall", "8,4K"),
    time_row("allgather", "8"),
    Row("idle", "weft_idle", "", "value", "%", 1, False),
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

# The sources, and the names under which compare runs the program of each.
PROGRAMS = {"weft_latency": ["weft_latency"], "weft_bw": ["weft_bw", "weft_bibw", "weft_mbw_mr"],
            "weft_init": ["weft_init"],
            "weft_datatype": [f"weft_{way}_{layout}" for way in ("pack", "unpack") for layout in LAYOUTS],
            "weft_forms": ["weft_allreduce_init", "weft_iallreduce", "weft_neighbor_alltoall", "weft_neighbor_messages"],
            "weft_queues": ["weft_posted", "weft_unexpected"], "weft_idle": ["weft_idle"], "weft_serve": ["weft_serve"],
            "weft_streams": [f"weft_{way}" for way in ("received", "probed", "any", "tested")],
            "weft_threads": [row.program for row in THREADS + TWO_THREADS]}
PROGRAMS["weft_coll"] = sorted({r.program for r in FEW if r.program} - set(sum(PROGRAMS.values(), [])))

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
    return list(dict.fromkeys(row.name for row in FEW + CROWDED))


def named(name):
    """The first row of this name."""
    return next(row for row in FEW + CROWDED if row.name == name)


def in_words(bytes):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes >= factor and bytes % factor == 0:
            return f"{bytes // factor} {unit}"
    return f"{bytes} B"


def title(name, bytes):
    """The name of a row in tables and plots."""
    words = {"job": "whole job: init, finalize", "launch": "mpirun true", "rate": "message rate",
             "bw_malloc": "bw (malloc)", "bw_behind": "bw (16 B behind)",
             "latency_behind": "latency (16 B behind)", "overlap": "iallreduce, hidden by computing",
             "received": "stream, MPI_Recv", "probed": "stream, MPI_Probe", "any": "stream, MPI_Waitany", "tested": "stream, MPI_Test",
             "posted": "latency, 1000 receives posted before", "unexpected": "latency, 1000 messages unexpected",
             "alone_latency": "latency, MPI_THREAD_MULTIPLE", "alone_rate": "message rate, MPI_THREAD_MULTIPLE",
             "mt_latency": "latency, 4 threads", "mt_rate": "message rate, 4 threads", "mt_allreduce": "allreduce, 4 threads",
             "mt_tested": "latency beside a thread in MPI_Test", "mt_blocked": "latency beside a blocked thread",
             "mt_within": "latency between two threads of a rank",
             "mt_self": "messages of two threads to their own rank",
             "idle": "processor of blocked ranks", "serve": "request and answer"}.get(name, name)
    return f"{words} {in_words(bytes)}" if named(name).sizes else words
