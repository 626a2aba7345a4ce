#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# torch.distributed over Weft: builds python/ against this build of Weft and runs test/torch. "slow" as an argument, or
# WEFT_TORCH_SUITE=yes, adds torch's own tests (some 10 minutes).
suite=${WEFT_TORCH_SUITE:-}
[ "${1:-}" != slow ] || suite=yes
. "$(dirname "$0")/torch_environment.sh"
here=$SOURCE/test/torch
[ "$suite" != yes ] || "$python" -c 'import expecttest' 2>/dev/null ||
    { echo "torch's own tests need the package expecttest, which $python has not"; exit 1; }

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

for program in operations asynchronous groups errors reports audit meshes; do
    for ranks in ${RANKS:-1 2 3 5}; do
        expect_nothing "$program on $ranks ranks" \
            "$BUILD/mpirun" -np "$ranks" "$python" "$here/$program.py"
    done
done
expect_nothing "errors by messages" "$BUILD/mpirun" -np 3 -x WEFT_WALLS=no "$python" "$here/errors.py"
expect_nothing "groups under torchrun" \
    "$python" -m torch.distributed.run --standalone --nproc-per-node=3 "$here/groups.py"
# Ranks that are killed; mpirun names them on stderr.
survive() {
    end=$1
    shift
    said=$(timeout 110 "$BUILD/mpirun" --enable-recovery "$@" 2>"$work/survive.err")
    case $said in
    *$end) return ;;
    esac
    echo "$*: \"$said\", expected \"$end\": $(cat "$work/survive.err")"
    failures=$((failures + 1))
}
for ranks in 2 4 5; do
    survive "$((ranks - 1)) lost, 1 left" -np $ranks "$python" "$here/losses.py"
done
survive ": correct" -np 3 "$python" "$SOURCE/examples/torch/lose_a_rank.py" "$work"
survive ": correct" --simulate-hosts 2 -np 4 "$python" "$SOURCE/examples/torch/lose_a_rank.py" "$work" 2
# Ranks that are killed and come again: each of them, several at once, and one twice
for ranks in 2 3; do
    survive "5 rounds" --max-restarts 5 -np $ranks "$python" "$here/rejoins.py"
done
replace() {
    most=$1 deaths=$2
    shift 2
    survive "${#deaths} ranks: loss"*": correct" --max-restarts "$most" -np ${#deaths} "$@" \
        "$python" "$SOURCE/examples/torch/replace_a_rank.py" "$work" "$deaths"
}
replace 1 10
replace 2 011
replace 3 0210
replace 4 2002 --simulate-hosts 2
replace 1 10 -x TORCH_DISTRIBUTED_DEBUG=DETAIL
said=$(timeout 110 "$BUILD/mpirun" --enable-recovery --max-restarts 1 -np 2 "$python" "$SOURCE/examples/torch/replace_a_rank.py" \
    "$work" 02 2>&1)
[ $? = 137 ] && [ "${said#*rank 1 *is lost; ending the job, as --max-restarts is 1}" != "$said" ] ||
    { echo "one death more than restarts: $said"; failures=$((failures + 1)); }

# Over gloo under mpirun, and over Weft under torchrun. Lines that begin with a blank tell times. With gloo, one of some 30
# processes is aborted when it exits, behind its result, by a thread of torch's ("terminate called without an active exception"),
# also where Weft's back end is not installed; so its errors are not compared.
for example in torch/all_reduce torch/train_ddp torch/train_fsdp torch/pipeline torch/routing parallel/data_parallel \
    parallel/tensor_parallel parallel/pipeline_parallel parallel/expert_parallel; do
    gloo=$(timeout 110 "$BUILD/mpirun" -np 3 "$python" "$SOURCE/examples/$example.py" gloo 2>/dev/null | sed '/^ /d')
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
