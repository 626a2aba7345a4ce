# SPDX-License-Identifier: BSD-3-Clause
"""The variables from which init_method="env://" learns rank and size, under launchers that do not
set them, as srun does not."""
import zlib

# The rank in the job, as launchers call it, and its size.
RANKS = ("PMIX_RANK", "SLURM_PROCID")
SIZES = ("SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL_RANKS = ("SLURM_LOCALID",)
FIRST_PORT, PORTS = 20000, 10000  # below those that the system gives to clients


def set_environment(environment):
    """Add RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT where they are missing and the
    launcher says what they are."""
    if "RANK" in environment or "PMIX_NAMESPACE" not in environment:
        return
    rank, size = _first(environment, RANKS), _first(environment, SIZES)
    if rank is None or size is None:
        return
    environment["RANK"], environment["WORLD_SIZE"] = rank, size
    local_rank = _first(environment, LOCAL_RANKS)
    if local_rank is not None:
        environment.setdefault("LOCAL_RANK", local_rank)
    environment.setdefault("MASTER_ADDR", _first_host(environment))
    environment.setdefault("MASTER_PORT", str(_port(environment)))


def _first(environment, names):
    return next((environment[name] for name in names if name in environment), None)


def _port(environment):
    """The same at all ranks of a job, and as a rule another one in another job."""
    job = environment["PMIX_NAMESPACE"].encode()
    return FIRST_PORT + zlib.crc32(job) % PORTS


def _first_host(environment):
    """Of a list as Slurm writes it: a[03-05,7],b -> a03."""
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST")
    if not nodes:
        return "127.0.0.1"
    name, bracket, numbers = nodes.partition("[")
    if not bracket or "," in name:
        return nodes.split(",")[0]
    rest = numbers.split("]", 1)
    number = rest[0].split(",")[0].split("-")[0]
    suffix = rest[1].split(",")[0] if len(rest) > 1 else ""
    return name + number + suffix
