# SPDX-License-Identifier: BSD-3-Clause
# Read by the tests of this folder that need torch, with `. torch_environment.sh`: $python has torch and, by PYTHONPATH, this
# source's python/ built against this build of Weft. The environment with torch is WEFT_TORCH_PYTHON's, or one that is made once
# in the cache (5.4 GB) if WEFT_TORCH_INSTALL is yes and the package index can be reached.
set -u
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=$(cd "${BUILD:-$SOURCE/build}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/weft-tests/torch
python=${WEFT_TORCH_PYTHON:-} install=${WEFT_TORCH_INSTALL:-}
unset WEFT_TORCH_PYTHON WEFT_TORCH_INSTALL WEFT_TORCH_SUITE # no variables of Weft's

skip() {
    echo "$*"
    exit 77
}

has_torch() {
    [ -n "$1" ] && "$1" -c 'import torch, numpy' >/dev/null 2>&1
}

if [ -n "$python" ]; then
    has_torch "$python" || { echo "WEFT_TORCH_PYTHON is $python, which cannot import torch and numpy"; exit 1; }
else
    python=$cache/bin/python
    if ! has_torch "$python"; then
        [ "$install" = yes ] ||
            skip "no torch: set WEFT_TORCH_PYTHON to a python that has it, or WEFT_TORCH_INSTALL=yes (5.4 GB)"
        python3 -m venv "$cache" && "$cache/bin/pip" install -q torch numpy setuptools expecttest ||
            skip "torch could not be installed from the package index"
    fi
fi

# The package goes to a folder of the build, so that the environment stays as it is; each test has its own.
test=$(basename "$0" .sh)
site=$BUILD/test-out/$test
work=$BUILD/test-out/$test-build
mkdir -p "$site" "$work" || exit 1
cp -RL "$SOURCE/python/." "$work" && rm -rf "$work/build"
PATH=$BUILD/tools:$PATH "$python" -m pip install -q --no-build-isolation --no-deps --upgrade \
    --target "$site" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR PYTHONWARNINGS=ignore
