# SPDX-License-Identifier: BSD-3-Clause
"""A folder that a machine with a GPU and no packages can run: Weft installed, the libraries that it needs, the benchmarks, the
tests that take a device, and the sources for a machine on which the programs do not start.

    weft/          make install
    lib/           the shared libraries that Weft needs, directly or not, found before the system's
    include/       headers of PMIx and hwloc, to build with
    share, etc.    files that PMIx looks for
    benchmarks/    programs
    tests/         programs and rows.json
    source/        make dist
    about.json     commit, system and libc of the packing machine
"""
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import job_runs

HERE = job_runs.HERE
MOST_BYTES = 60 << 20
# These libraries are part of every system, and must not be mixed with another libc.
OF_SYSTEM = re.compile(r"^(ld-linux|libc\.|libm\.|libdl\.|libpthread\.|librt\.|libresolv\.|libutil\.|linux-vdso|libgcc_s\.|libcuda\.)")
PROGRAMS = ("weft_latency", "weft_bw", "weft_coll", "weft_init")


def must(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    if done.returncode != 0:
        sys.exit(f"gpu-run: {' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def setting(build, name):
    """A variable of the build folder's Makefile."""
    return job_runs.first_match(f"{build}/Makefile", rf"^{name} = (.*)$")


def make_benchmarks(build, folder):
    """Compile all programs, and make links for those that have several names."""
    os.makedirs(folder, exist_ok=True)
    parts, cc = glob.glob(f"{HERE}/bench*.c"), os.environ.get("CC", "cc")
    for name in PROGRAMS:
        must([f"{build}/tools/mpicc", "-O2", "-o", f"{folder}/{name}", f"{HERE}/{name}.c", *parts, "-ldl"])
    for name in ("weft_bibw", "weft_mbw_mr"):
        if not os.path.exists(f"{folder}/{name}"):
            os.symlink("weft_bw", f"{folder}/{name}")
    must([cc, "-O2", "-o", f"{folder}/gpu_limits", f"{HERE}/gpu_limits.c", f"{HERE}/bench_device.c", "-ldl"])
    header = job_runs.first_match(f"{build}/test/settings", r"^cuda_include (.+)$")
    if header:
        must([cc, "-O2", "-o", f"{folder}/gpu_questions", "-isystem", header,
              *[f"{HERE}/gpu_{part}.c" for part in ("questions", "gate", "steps", "multicast")], f"-L{build}/simcuda", "-lcuda", "-pthread"])


def make_tests(build, folder):
    os.makedirs(folder, exist_ok=True)
    root = os.path.dirname(HERE)
    must([sys.executable, f"{root}/test/run-tests", "--build", build, "--gpu", "--export", folder, "mpi/", "simcuda/"])


def needed_libraries(file):
    """Name -> path of all libraries that `file` is linked with, directly or not, except the
    system's and Weft's."""
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", must(["ldd", file]), re.M))
    return {name: path for name, path in found.items() if not OF_SYSTEM.match(name) and not name.startswith("libmpi")}


def pack_libraries(folder):
    libraries = f"{folder}/lib"
    os.makedirs(libraries, exist_ok=True)
    programs = [f"{folder}/weft/bin/mpirun", *glob.glob(f"{folder}/weft/lib/libmpi_abi.so.*.*")]
    for file in programs:
        for name, path in needed_libraries(os.path.realpath(file)).items():
            shutil.copy(path, f"{libraries}/{name}")
    for name, of in (("libpmix.so", "libpmix.so.2"), ("libhwloc.so", "libhwloc.so.15")):
        if os.path.exists(f"{libraries}/{of}") and not os.path.exists(f"{libraries}/{name}"):
            os.symlink(of, f"{libraries}/{name}")
    return os.path.dirname(os.path.realpath(needed_libraries(os.path.realpath(programs[0])).get("libpmix.so.2", "/")))


def pack_headers(folder, build):
    """Pack the headers of PMIx and hwloc that the compiler of the build finds."""
    flags = [f[2:] for name in ("PMIX_CFLAGS", "HWLOC_CFLAGS") for f in setting(build, name).split() if f.startswith("-I")]
    for place in [*flags, "/usr/include"]:
        for path in glob.glob(f"{place}/pmix*.h") + glob.glob(f"{place}/hwloc*"):
            target = f"{folder}/include/{os.path.basename(path)}"
            if os.path.isdir(path) and not os.path.exists(target):
                shutil.copytree(path, target)
            elif os.path.isfile(path):
                os.makedirs(f"{folder}/include", exist_ok=True)
                shutil.copy(path, target)


def pack_pmix(folder, libraries):
    """Pack the plugins and texts of PMIx, below the prefix that PMIX_INSTALL_PREFIX will name."""
    for plugins in glob.glob(f"{libraries}/pmix") + glob.glob(f"{libraries}/../pmix2/lib/pmix"):
        shutil.copytree(plugins, f"{folder}/lib/pmix", dirs_exist_ok=True)
    for texts in glob.glob(f"{libraries}/../share/pmix") + glob.glob("/usr/share/pmix*"):
        shutil.copytree(texts, f"{folder}/share/pmix", dirs_exist_ok=True)


def strip(folder):
    """Remove debugging data, which is most of the programs' size."""
    for path, _, files in os.walk(folder):
        for file in files:
            if ".so" in file or "/bin" in path or "/benchmarks" in path or "/tests" in path:
                subprocess.run(["strip", "--strip-debug", os.path.join(path, file)], stderr=subprocess.DEVNULL)


def bytes_of(folder):
    return sum(os.lstat(os.path.join(path, file)).st_size for path, _, files in os.walk(folder) for file in files)


def pack_source(folder, build):
    os.makedirs(f"{folder}/source", exist_ok=True)
    must([setting(build, "MAKE") or "make", "-s", "-C", build, "dist-gzip"])
    for archive in glob.glob(f"{build}/weft-*.tar.gz"):
        shutil.move(archive, f"{folder}/source/{os.path.basename(archive)}")


def pack(build, folder):
    """Make the folder, which must not exist, and print its size."""
    if os.path.exists(folder):
        sys.exit(f"gpu-run: {folder} is there already: remove it, or name another folder")
    build, folder = os.path.abspath(build), os.path.abspath(folder)
    prefix = setting(build, "prefix")
    must(["make", "-s", "-C", build, "install", f"DESTDIR={folder}/staged"])
    shutil.move(f"{folder}/staged{prefix}", f"{folder}/weft")
    shutil.rmtree(f"{folder}/staged")
    make_benchmarks(build, f"{folder}/benchmarks")
    make_tests(build, f"{folder}/tests")
    pmix = pack_libraries(folder)
    pack_headers(folder, build)
    pack_pmix(folder, pmix)
    pack_source(folder, build)
    strip(folder)
    with open(f"{folder}/about.json", "w") as file:
        json.dump({"commit": job_runs.commit(), "system": job_runs.machine()["system"], "libc": platform.libc_ver()[1]}, file)
    job_runs.say(f"gpu-run: {folder}: {bytes_of(folder) >> 20} MiB")
    if bytes_of(folder) > MOST_BYTES:
        sys.exit(f"gpu-run: that is more than {MOST_BYTES >> 20} MiB: build with --with-cuda-arch=90")
