# SPDX-License-Identifier: BSD-3-Clause
# Read with `. start_ranks.sh` by tests of this folder: ranks started without a launcher, as any would start them.

# start RANKS COMMAND...: all ranks; their exit codes go to "codes", what they print to "out"
start() {
    size=$1 number=0
    shift
    rm -f meeting out code.*
    while [ $number -lt "$size" ]; do
        (
            # exec: the shell that says "Killed" has its own standard error
            (exec env RANK=$number WORLD_SIZE=$size WEFT_BOOTSTRAP=file:$work/meeting timeout -k 5 40 "$@" >>out 2>&1)
            echo $? >code.$number
        ) 2>/dev/null &
        number=$((number + 1))
    done
    wait
    cat code.* >codes
}

# ended CODE: how many ranks have
ended() {
    grep -c "^$1\$" codes
}
