# SPDX-License-Identifier: BSD-3-Clause
"""Where gpu-run finds mpirun, the benchmarks and the tests: in a build folder, in what gpu_pack.py has packed, or in a build of
the packed sources."""
import glob
import os
import re
import subprocess
import sys
import time

import gpu_pack
from job_runs import attempt, packed_pmix, say

SKIPPED = 77        # the exit code of a program that finds no device
DRIVER_FOLDER = "/usr/local/nvidia/lib64"
REBUILD_S = 240     # configure and make of the packed sources, at most


class Place:
    """`folder` has benchmarks and tests; `settings` is the environment that all of them need."""

    def __init__(self, mpirun, info, folder, settings):
        self.mpirun, self.info, self.settings = mpirun, info, settings
        self.benchmarks, self.tests = f"{folder}/benchmarks", f"{folder}/tests"

    def command(self, words, limit_s, settings=()):
        return attempt(words, {**os.environ, **self.settings, **dict(settings)}, limit_s)

    def attempt(self, ranks, words, limit_s, settings=()):
        """A job of so many ranks; 0: without mpirun."""
        return self.command([self.mpirun, "-np", str(ranks), *words] if ranks else words, limit_s, settings)

    def complaint(self):
        """Why nothing can run here; "" if a job on host memory works."""
        missing = self.missing_libraries()
        if missing:
            return f"{self.mpirun} does not start: {missing}"
        ended = self.attempt(2, [f"{self.benchmarks}/weft_coll", "allreduce", "-s", "8", "-i", "10", "-c"], 30)
        return "" if ended.status == "ok" else f"a job on host memory: {ended.status}:\n{(ended.output + ended.errors)[-2000:]}"

    def has_device(self):
        ended = self.command([f"{self.benchmarks}/gpu_limits", "8"], 60)
        return ended.code != SKIPPED

    def missing_libraries(self):
        try:
            words = self.command(["ldd", self.mpirun, f"{self.benchmarks}/weft_coll"], 20)
        except OSError:
            return ""   # there is no ldd; the job will tell
        lines = (words.output + words.errors).splitlines()
        return "; ".join(line.strip() for line in lines if re.search(r"not found|not a dynamic|wrong ELF", line))


def library_path(*folders):
    """Our folders come before those that are searched already; the folder where containers mount
    the driver comes last."""
    known = [os.environ.get("LD_LIBRARY_PATH", ""), *glob.glob(DRIVER_FOLDER)]
    return ":".join([*folders, *filter(None, known)])


def packed_place(folder, more_libraries):
    for part in ("weft/bin", "benchmarks", "tests"):
        for program in glob.glob(f"{folder}/{part}/**", recursive=True):
            os.chmod(program, 0o755)
    return Place(f"{folder}/weft/bin/mpirun", f"{folder}/weft/bin/weft_info", folder,
                 {"LD_LIBRARY_PATH": library_path(f"{folder}/weft/lib", f"{folder}/lib", *more_libraries), **packed_pmix(folder)})


def built_place(build, scratch, more_libraries):
    gpu_pack.make_benchmarks(build, f"{scratch}/benchmarks")
    gpu_pack.make_tests(build, f"{scratch}/tests")
    return Place(f"{build}/mpirun", f"{build}/weft_info", scratch, {"LD_LIBRARY_PATH": library_path(*more_libraries)})


def rebuilt_place(options, scratch, more_libraries):
    """Build from the packed sources with the packed libraries: for a system on which the packed
    programs do not start."""
    say(f"gpu-run: building from the packed sources, {REBUILD_S} s at most")
    folder, deadline = options.packed, time.monotonic() + REBUILD_S
    arch = "90" if options.simulated else "native"
    gpu_pack.must(["tar", "-xzf", *glob.glob(f"{folder}/source/*.tar.gz"), "-C", scratch])
    source, build = glob.glob(f"{scratch}/weft-*")[0], f"{scratch}/build"
    os.makedirs(build)
    variables = [f"{name}_CFLAGS=-I{folder}/include" for name in ("PMIX", "HWLOC")]
    variables += [f"{name}_LIBS=-L{folder}/lib -l{name.lower()} -Wl,-rpath-link,{folder}/lib" for name in ("PMIX", "HWLOC")]
    os.environ["LD_LIBRARY_PATH"] = library_path(f"{folder}/lib")
    for words in ([f"{source}/configure", f"--with-cuda-arch={arch}", *variables],
                  ["make", "-s", f"-j{os.cpu_count()}", "all", "test/settings"]):
        try:
            gpu_pack.must(words, cwd=build, timeout=max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            sys.exit(f"gpu-run: {words[0]} is not done after {REBUILD_S} s")
    return built_place(build, scratch, [f"{folder}/lib", *more_libraries])


def place_of(options, scratch):
    """The place to run from; ends the program if no job works there, as then nothing will."""
    simulator = [f"{options.build}/simcuda"] if options.simulated else []
    if not options.packed:
        place = built_place(options.build, scratch, simulator)
    elif options.rebuild:
        place = rebuilt_place(options, scratch, simulator)
    else:
        place = packed_place(options.packed, simulator)
    complaint = place.complaint()
    if complaint:
        advice = " (--rebuild would build from the packed sources)" if options.packed and not options.rebuild else ""
        sys.exit(f"gpu-run: {complaint}\ngpu-run: nothing was run{advice}")
    return place
