# SPDX-License-Identifier: BSD-3-Clause
"""Where Weft's headers and library are: WEFT_HOME, the mpicc in PATH, or pkg-config."""
import os
import shlex
import shutil
import subprocess


class NotFound(Exception):
    pass


def flags_of(command):
    """The words that a command prints; none if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return shlex.split(done.stdout)


def folders(flags, option):
    return [flag[len(option):] for flag in flags if flag.startswith(option)]


def candidates():
    """Ways to find it, the explicit one first: how, and compiler flags."""
    home = os.environ.get("WEFT_HOME")
    if home:
        wrapper = os.path.join(home, "bin", "mpicc")
        if os.path.exists(wrapper):
            yield f"WEFT_HOME={home}", flags_of([wrapper, "-show"])
        yield f"WEFT_HOME={home}", [f"-I{home}/include", f"-L{home}/lib"]
        return
    wrapper = shutil.which("mpicc")
    if wrapper:
        yield wrapper, flags_of([wrapper, "-show"])
    yield "pkg-config weft", flags_of(["pkg-config", "--cflags", "--libs", "weft"])


def find():
    """(how, include folders, library folders) of a Weft that has what the extension needs."""
    tried = []
    for how, flags in candidates():
        includes, libraries = folders(flags, "-I"), folders(flags, "-L")
        header = next((f for f in (os.path.join(i, "mpix.h") for i in includes)
                       if os.path.exists(f)), None)
        if header is None:
            tried.append(f"{how}: no mpix.h")
        elif "MPIX_Comm_shrink" not in open(header, encoding="utf-8").read():
            tried.append(f"{how}: {header} is of an older Weft")
        elif not any(os.path.exists(os.path.join(f, "libmpi_abi.so")) for f in libraries):
            tried.append(f"{how}: no libmpi_abi.so")
        else:
            return how, includes, libraries
    raise NotFound("weft: Weft was not found (" + "; ".join(tried or ["no mpicc in PATH"]) + "). "
                   "Put its bin folder into PATH, or set WEFT_HOME to where it is installed.")
