# SPDX-License-Identifier: BSD-3-Clause
"""The extension weft._C. See README.md; the rest of the package is described in pyproject.toml."""
import os
import sys

from setuptools import setup

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import find_weft  # noqa: E402

import torch  # noqa: E402
from torch.utils import cpp_extension  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCES = ["description", "operation", "alarm", "work", "progress", "types", "host_path",
           "bootstrap", "meeting", "library", "mail", "audit", "loss", "reunion", "group", "call", "tensor_lists", "reductions",
           "sparse", "gathers", "exchanges", "barriers", "bindings"]


def cuda_include():
    """Where cuda_runtime_api.h is, if torch has CUDA and its headers are here; or None, also if
    TORCH_WEFT_CUDA is "no"."""
    if torch.version.cuda is None or os.environ.get("TORCH_WEFT_CUDA") == "no":
        return None
    homes = [cpp_extension.CUDA_HOME] if cpp_extension.CUDA_HOME else []
    site = os.path.dirname(os.path.dirname(torch.__file__))
    homes += [os.path.join(site, "nvidia", "cu" + torch.version.cuda.split(".")[0])]
    for home in homes:
        folder = os.path.join(home, "include")
        if os.path.exists(os.path.join(folder, "cuda_runtime_api.h")):
            return folder
    return None


def write_one_source(names):
    """One source that includes all: torch's headers take longer to compile than all of ours."""
    os.makedirs(os.path.join(FOLDER, "build"), exist_ok=True)
    with open(os.path.join(FOLDER, "build", "extension.cpp"), "w", encoding="utf-8") as out:
        out.writelines(f'#include "../csrc/{name}.cpp"\n' for name in names)
    return os.path.join("build", "extension.cpp")


def extension():
    try:
        how, includes, libraries = find_weft.find()
    except find_weft.NotFound as err:
        sys.exit(str(err))
    cuda = cuda_include()
    print(f"weft: found by {how}; cuda tensors: {'yes' if cuda else 'no'}")
    source = write_one_source(SOURCES + ["cuda_stream_path" if cuda else "no_stream_path"])
    own = [os.path.join(FOLDER, "csrc")] + includes + ([cuda] if cuda else [])
    return cpp_extension.CppExtension(
        "weft._C", [source], include_dirs=own, library_dirs=libraries,
        libraries=["mpi_abi"] + (["c10_cuda"] if cuda else []),
        extra_compile_args=["-O2", "-g0", "-Wall"],
        extra_link_args=[f"-Wl,-rpath,{folder}" for folder in libraries])


setup(packages=["weft"], ext_modules=[extension()],
      cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(use_ninja=False)})
