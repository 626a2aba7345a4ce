# SPDX-License-Identifier: BSD-3-Clause
"""What gpu-run runs: benchmarks by importance, since its time is limited."""
import collections

# name       as in the tables
# program    in this folder; for several collectives the first argument lists their names
# settings   added to the environment
# limit_s    of one job
class Job(collections.namedtuple("Job", "name program arguments ranks limit_s settings", defaults=({},))):
    def words(self):
        settings = [f"{name}={value}" for name, value in self.settings.items()]
        return " ".join([*settings, "mpirun", "-np", str(self.ranks), self.program, *self.arguments])

    def after(self, names):
        """A job for the collectives behind those that this one has begun; None if there are none."""
        rest = [name for name in self.arguments[0].split(",") if name and name not in names] if self.program == "weft_coll" else []
        return self._replace(arguments=[",".join(rest) + ",", *self.arguments[1:]]) if rest and names else None

    def as_named(self, benchmark):
        """How the tables call a benchmark of this job: "allreduce, copied" of a job "collectives, copied"."""
        _, comma, variant = self.name.partition(", ")
        return benchmark + comma + variant

ALL_SIZES = "8,64,512,4K,16K,64K,256K,1M,4M,16M"
FEW_SIZES = "8,4K,64K,1M,16M"
LARGE_SIZES = "64M,256M"    # staged by 16 ranks these pin 8 GiB and take seconds a turn: last
OTHERS = ("bcast", "reduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter", "scan", "exscan",
          "allgatherv", "alltoallv", "alltoallw", "gatherv", "scatterv")
VECTORS = ("8:64", "64:256", "512:1024")


def collectives(names, sizes, ranks, turns, limit_s):
    return Job("collectives", "weft_coll", [",".join(names), "-d", "cuda", "-s", sizes, "--turns", str(turns), "-t", "0.03",
                                            "-M", "256M"], ranks, limit_s)


def pair(name, sizes, more, turns=3, ranks=2, seconds="0.05"):
    program = f"weft_{name}"
    return Job(name, program, ["-s", sizes, "--turns", str(turns), "-t", seconds, *more], ranks, 40)


def on_host(name, settings):
    return Job(name, "weft_latency", ["-s", "8", "-i", "200000", "-t", "0.5"], 2, 20, settings)


def bound_buffers(ranks):
    """Large collectives by multicast, with the switch in the program's buffers, and through Weft's memory."""
    job = collectives(["allreduce", "reduce_scatter_block", "allgather", "bcast"], "4M,16M,64M,256M", ranks, 2, 60)
    job = job._replace(arguments=["virtual" if word == "cuda" else word for word in job.arguments])
    return [job, job._replace(name="collectives, copied", settings={"WEFT_DEVICE_BIND_MIN": "1T"})]


def full(devices):
    """Everything, for a machine with so many GPUs."""
    host = [on_host("host latency", {}), on_host("host latency, no device", {"WEFT_DEVICE": "no"})]
    vectors = [pair("latency", "4K,64K,1M", ["-d", "cuda", "--vector", v], turns=2) for v in VECTORS]
    places = [pair("latency", "8,4K,64K,1M,16M", p, turns=2) for p in (["D", "H"], ["H", "D"], ["M", "M"])]
    bound = [job for ranks in (8, 4) if ranks <= devices for job in bound_buffers(ranks)]
    return [
        pair("latency", "0,8,64,512,4K,16K,64K,256K,1M,4M,16M,64M", ["-d", "cuda"]),
        pair("bw", "64,1K,4K,16K,64K,256K,1M,4M,16M,64M", ["-d", "cuda"]),
        *vectors,
        *[collectives(["allreduce", "barrier"], ALL_SIZES, ranks, 3, 50) for ranks in (2, 4, 8, 16)],
        *bound,
        *host, *host, *host,
        *places,
        pair("bibw", "4K,64K,1M,16M", ["-d", "cuda"], turns=2),
        pair("mbw_mr", "8,4K,64K", ["-d", "cuda"], turns=2, ranks=4),
        *[collectives(["allreduce", ""], LARGE_SIZES, ranks, 2, 60) for ranks in (2, 4, 8)],
        *[collectives(OTHERS, FEW_SIZES, ranks, 2, 90) for ranks in (16, 4, 2, 8)],
        collectives(["allreduce", ""], LARGE_SIZES, 16, 2, 60),
        *[collectives(OTHERS, LARGE_SIZES, ranks, 2, 60) for ranks in (2, 4, 8, 16)],
    ]


def short():
    """A few sizes of everything, with results checked, for the simulated driver."""
    check = ["-c"]
    return [
        pair("latency", "8,64K", ["-d", "cuda", *check], turns=2, seconds="0.01"),
        pair("latency", "4K", ["-d", "cuda", "--vector", "8:64", *check], turns=1, seconds="0.01"),
        pair("latency", "64", ["D", "H", *check], turns=1, seconds="0.01"),
        pair("bw", "8,64K", ["-d", "cuda", "-W", "4", *check], turns=1, seconds="0.01"),
        on_host("host latency", {}),
        Job("collectives", "weft_coll", ["allreduce,bcast,alltoall", "-d", "cuda", "-s", "8,64K", "--turns", "1", "-t", "0.01",
                                         "-M", "128K", *check], 3, 60),
        Job("collectives, copied", "weft_coll", ["allreduce,", "-d", "virtual", "-s", "64K", "--turns", "1", "-t", "0.01", *check], 3, 60,
            {"WEFT_DEVICE_BIND_MIN": "1T"}),
    ]


# Test programs that compute-sanitizer watches, on two ranks.
SANITIZED = ("coll/moves", "coll/reductions", "cuda/")
