#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The image of kernels has every kernel for every architecture that configure chose, threads keep
their data in registers, and the image is small. The kernels for the host are the reference, which a
unit test compares with the table; the log of ptxas lists the kernels of the image."""
import os
import re
import struct
import subprocess
import sys

BUILD = os.environ["BUILD"]
IMAGE = f"{BUILD}/src/cuda/kernels/kernels.fatbin"
MOST_BYTES, MOST_STACK_BYTES = 20 << 20, 64


def skip(why):
    print(why)
    sys.exit(77)


def chosen():
    """The architectures of the Makefile: those with code, and those with PTX."""
    with open(f"{BUILD}/Makefile") as text:
        flags = re.search(r"^NVCC_ARCHES = (.*)$", text.read(), re.M).group(1)
    return set(re.findall(r"code=sm_(\d+)", flags)), set(re.findall(r"code=compute_(\d+)", flags))


def contained():
    """The architectures of the image, which is a list of entries, each with its kind and
    architecture."""
    with open(IMAGE, "rb") as file:
        image = file.read()
    magic, _, header, size = struct.unpack_from("<IHHQ", image)
    if magic != 0xBA55ED50:
        sys.exit(f"{IMAGE} begins with 0x{magic:x}, as no fatbin does")
    found, at = {1: set(), 2: set()}, header  # PTX, code
    while at < header + size:
        kind, _, head, body, arch = struct.unpack_from("<HHIQ12xI", image, at)
        found[kind].add(str(arch))
        at += head + body
    return found[2], found[1]


def kernels_on_host():
    library = f"{BUILD}/simcuda/libweft_kernels_host.so"
    if not os.path.exists(library):
        skip("no kernels for the host to compare with")
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {name[:-len("_on_host")] for name in symbols.split() if name.endswith("_on_host")}


def built():
    """The kernels of each architecture, and messages about kernels that need a stack."""
    with open(IMAGE + ".log") as text:
        entries = re.findall(r"Compiling entry function '(\w+)' for 'sm_(\d+)\w?'\n(?:.*\n)\s*(\d+) bytes stack", text.read())
    kernels, spilled = {}, []
    for name, arch, stack in entries:
        kernels.setdefault(arch, set()).add(name)
        if int(stack) > MOST_STACK_BYTES:
            spilled.append(f"{name} for {arch} has a stack of {stack} bytes")
    return kernels, spilled


if not os.path.exists(IMAGE):
    skip("built without nvcc: there are no kernels")
complaints = []
wanted = kernels_on_host()
code, ptx = chosen()
if code and (code, ptx) != contained():
    complaints.append(f"the image is for {contained()}, configure chose {(code, ptx)}")
kernels, spilled = built()
complaints += [f"no kernels for {arch}" for arch in code if arch not in kernels]
for arch, names in kernels.items():
    complaints += [f"{name} is missing for {arch}" for name in wanted - names]
    complaints += [f"{name} for {arch} is not among the host's kernels" for name in names - wanted]
if os.path.getsize(IMAGE) > MOST_BYTES:
    complaints.append(f"the image has {os.path.getsize(IMAGE)} bytes, more than {MOST_BYTES}")
print("\n".join(complaints + spilled))
sys.exit(1 if complaints or spilled else 0)
