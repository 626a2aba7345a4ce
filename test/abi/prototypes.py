# SPDX-License-Identifier: BSD-3-Clause
"""The prototypes of mpi.h and the lists beside the library's sources."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = f"{ROOT}/include"


def prototypes(prefix):
    """{name: "int (parameters)"} of the prototypes whose names begin with MPI_ or PMPI_."""
    with open(f"{INCLUDE}/mpi.h") as text:
        found = re.findall(rf"^(\w+) ({prefix}\w+)\(([^;{{]*)\);", text.read(), re.M)
    return {name: f"{returns} ({' '.join(parameters.split())})" for returns, name, parameters in found}


def nccl_functions():
    """The functions of weft_nccl.h that the library exports."""
    with open(f"{INCLUDE}/weft_nccl.h") as text:
        return re.findall(r"^(?:ncclResult_t |const char \*)(weft_nccl_\w+)\([^;{]*\);", text.read(), re.M)


def unsupported():
    with open(f"{ROOT}/src/mpi/unsupported.list") as lines:
        return [line.strip() for line in lines if line.startswith("MPI_")]


def removed():
    """The functions of test/abi/removed.list."""
    with open(f"{ROOT}/test/abi/removed.list") as lines:
        return [line.strip() for line in lines if line.startswith("MPI_")]


def limit(key):
    """A row of test/abi/limits: numbers that go down, never up."""
    with open(f"{ROOT}/test/abi/limits") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key + " "))
