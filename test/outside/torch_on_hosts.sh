#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# torch.distributed over Weft on three hosts of test/cluster: started by srun --mpi=pmix, and by torchrun on each of them.
. "$(dirname "$0")/torch_environment.sh"
cluster="$SOURCE/test/cluster/hosts --hosts 3 --slots 2"
case $BUILD in # each host has its own /tmp
/tmp/*) cluster="$cluster --share $BUILD" ;;
esac
failures=0

# check NAME LINES: the output in the file out has such lines alone. When the first agent of torchrun is gone others may
# complain of that.
check() {
    sed -i '/^[EWI][0-9]* .*torch\/distributed\/elastic/d' out
    grep -q '^python ended with 0' out && ! grep -q -v "$2" out && return
    echo "$1: $(head -c 1500 out)"
    failures=$((failures + 1))
}

# The programs of test/torch print nothing. srun's exit code is not to be relied upon.
mkdir -p "$work/hosts" && cd "$work/hosts" || exit 1
printf '#!/bin/sh\n"%s" "$@"\necho "python ended with $?"\n' "$python" >run
chmod +x run
by_srun() {
    $cluster --slurm -- timeout 110 srun --mpi=pmix -N 3 -n "$ranks" "$PWD/run" "$@" >out 2>&1 </dev/null
    [ $? -ne 77 ] || skip "$(cat out)"
}

# An agent of torchrun on each host, with one or two ranks
by_torchrun() {
    cat >agents <<EOT
for host in 1 2 3; do
    agent h\$host "cd $PWD; env PYTHONPATH=$PYTHONPATH OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR PYTHONWARNINGS=ignore \\
        timeout -k 5 110 ./run -m torch.distributed.run --nnodes 3 --node-rank \$((host - 1)) --master-addr 10.77.0.11 \\
        --master-port 29500 --nproc-per-node $each $*" &
done
wait
EOT
    $cluster -- sh "$PWD/agents" >out 2>&1 </dev/null
    [ $? -ne 77 ] || skip "$(cat out)"
}

for program in operations groups audit reports; do
    ranks=5
    by_srun "$SOURCE/test/torch/$program.py"
    check "$program on 5 ranks by srun" '^python ended with 0$'
    each=1
    by_torchrun "$SOURCE/test/torch/$program.py"
    check "$program by torchrun" '^python ended with 0$'
done
for example in data_parallel tensor_parallel pipeline_parallel expert_parallel; do
    ranks=3
    by_srun "$SOURCE/examples/parallel/$example.py"
    check "$example by srun" '^python ended with 0$\|ranks\?, loss\|^ \|: correct$'
    each=2
    by_torchrun "$SOURCE/examples/parallel/$example.py"
    check "$example by torchrun" '^python ended with 0$\|ranks\?, loss\|^ \|: correct$\|ranks do not fit'
done
[ $failures = 0 ]
