# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder with `. wheels.sh`: Python environments in the user's cache,
# since their packages take minutes to fetch or to build and do not depend on Weft.
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${BUILD:=$SOURCE/build}"
: "${MPIRUN:=$BUILD/mpirun}"
: "${MPICC:=$BUILD/tools/mpicc}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# skip REASON
skip() {
    echo "$*"
    exit 77
}

fail() {
    echo "$0: $*" >&2
    exit 1
}

# environment FOLDER: make a Python environment there, unless there is one.
environment() {
    [ -x "$1/bin/pip" ] || python3 -m venv "$1" >"$work/log" 2>&1 || skip "python3 -m venv: $(tail -n 1 "$work/log")"
}

# fetch FOLDER FILE PACKAGE...: install Python packages into an environment there, unless their FILE
# exists.
fetch() {
    folder=$1 file=$2
    shift 2
    [ ! -e "$folder/$file" ] || return 0
    environment "$folder"
    "$folder/bin/pip" install -q "$@" >"$work/log" 2>&1 && [ -e "$folder/$file" ] ||
        skip "pip cannot install $*: $(tail -n 1 "$work/log")"
}

# Programs built without sanitizers cannot load a library that was built with one.
need_plain_build() {
    ! readelf -d "$BUILD/.libs/libmpi_abi.so.1" | grep -q 'lib[a-z]*san\.' || skip "this build has sanitizers"
}
