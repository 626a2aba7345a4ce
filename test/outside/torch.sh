#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# torch.distributed over Weft: builds python/ against this build of Weft and runs test/torch. The environment with torch is WEFT_TORCH_PYTHON's, or one that is made once in the cache
# (5.4 GB) if WEFT_TORCH_INSTALL is yes and the package index can be reached. "slow" as an argument, or
# WEFT_TORCH_SUITE=yes, adds torch's own tests (some 10 minutes).
set -u
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
here=$SOURCE/test/torch
BUILD=$(cd "${BUILD:-$SOURCE/build}" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/weft-tests/torch
python=${WEFT_TORCH_PYTHON:-} install=${WEFT_TORCH_INSTALL:-} suite=${WEFT_TORCH_SUITE:-}
unset WEFT_TORCH_PYTHON WEFT_TORCH_INSTALL WEFT_TORCH_SUITE # no variables of Weft's
[ "${1:-}" != slow ] || suite=yes

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
        python3 -m venv "$cache" && "$cache/bin/pip" install -q torch numpy setuptools ||
            skip "torch could not be installed from the package index"
    fi
fi

# The package goes to a folder of the build, so that the environment stays as it is.
site=$BUILD/test-out/torch
work=$BUILD/test-out/torch-build
mkdir -p "$site" "$work" || exit 1
cp -RL "$SOURCE/python/." "$work" && rm -rf "$work/build"
PATH=$BUILD/tools:$PATH "$python" -m pip install -q --no-build-isolation --no-deps --upgrade \
    --target "$site" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR PYTHONWARNINGS=ignore

failures=0
expect_nothing() {
    what=$1
    shift
    said=$(timeout 110 "$@" 2>&1)
    status=$?
    [ $status = 0 ] && [ -z "$said" ] && return
    echo "$what: exit code $status"
    echo "$said"
    failures=$((failures + 1))
}

for program in operations asynchronous groups errors reports audit; do
    for ranks in ${RANKS:-1 2 3 5}; do
        expect_nothing "$program on $ranks ranks" \
            "$BUILD/mpirun" -np "$ranks" "$python" "$here/$program.py"
    done
done
expect_nothing "groups under torchrun" \
    "$python" -m torch.distributed.run --standalone --nproc-per-node=3 "$here/groups.py"
# Over gloo under mpirun, and over Weft under torchrun. Lines that begin with a blank tell times.
for example in torch/all_reduce torch/train_ddp torch/train_fsdp torch/pipeline torch/routing parallel/data_parallel \
    parallel/tensor_parallel parallel/pipeline_parallel parallel/expert_parallel; do
    gloo=$(timeout 110 "$BUILD/mpirun" -np 3 "$python" "$SOURCE/examples/$example.py" gloo 2>&1 | sed '/^ /d')
    weft=$(timeout 110 "$python" -m torch.distributed.run --standalone --nproc-per-node=3 \
        "$SOURCE/examples/$example.py" weft 2>/dev/null | sed '/^ /d')
    case $weft in
    *correct) [ "$weft" = "$gloo" ] && continue ;;
    esac
    echo "examples/$example.py: over gloo \"$gloo\", over weft under torchrun \"$weft\""
    failures=$((failures + 1))
done
if [ "$suite" = yes ]; then
    for name in --as-gloo ""; do
        # shellcheck disable=SC2086
        "$python" "$here/torch_suite.py" $name >"$work/suite.log" 2>&1 ||
            { tail -50 "$work/suite.log"; failures=$((failures + 1)); }
    done
fi
[ $failures = 0 ]
