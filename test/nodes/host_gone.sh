#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A host dies while its ranks communicate: the job ends, the host or one of its ranks is named,
# nothing is left.
# Cases: killed cut_off vanished first_contact
. "$(dirname "$0")/setup_hosts.sh"

# build PROGRAM...
build() {
    for program; do
        "$MPICC" -o "$program" "$SOURCE/test/nodes/$program.c" || fail "$program.c cannot be compiled"
    done
}

cat >dies <<'EOT'
. "$SOURCE/test/launch/await.sh"
WEFT_LOST_AFTER=5 timeout 100 "$MPIRUN" --launch-agent agent -host h1:2,h2:1,h3:2 -np 5 ./forever "$PWD/begun" >said 2>&1 </dev/null &
job=$!
await_files $job said begun || exit
agent h2 "$1"
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
sh left forever h1 h3
EOT
# dies HOW: HOW is a command for h2
dies() {
    build forever
    rm -f begun
    expect_on 0 --hosts 3 --slots 2 -- sh dies "$1"
    grep -q '^code 1[0-9]*: ' out || fail "$1: mpirun returns success, or too late: $(cat out err)"
    grep -q 'h2' out || fail "$1: h2 is not named: $(cat out err)"
    [ "$(grep -c '^left on h[13]: \.$' out)" -eq 2 ] || fail "$1: something is left: $(cat out err)"
}

cat >gone <<'EOT'
. "$SOURCE/test/launch/await.sh"
WEFT_LOST_AFTER=600 timeout 100 "$MPIRUN" --launch-agent agent "$@" "$PWD/begun" "$PWD/gone_now" >said 2>&1 </dev/null &
job=$!
await_files $job said begun || exit
agent h2 'ip link set eth0 down'
: >gone_now
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
EOT
# gone PROGRAM OPTION...: the network of h2 vanishes once the program has begun. mpirun's own limit
# is high, so the rank that waits must detect the loss.
gone() {
    program=$1
    shift
    build $program
    rm -f begun gone_now
    expect_on 0 --hosts 2 -- sh gone "$@" "./$program"
    grep -q '^code 42: ' out || fail "a vanished network: $program: $(cat out err)"
}

for case in $cases; do
    case $case in
    killed) dies 'kill -9 -1' ;;
    cut_off) dies 'ip link set eth0 down; kill -9 -1' ;;
    vanished) gone vanished -host h1,h2 -np 2 -x WEFT_LOST_AFTER=3 ;;
    first_contact) # the host vanishes before the first message to it
        gone first_contact -host h1,h2:2 -np 3 -x WEFT_TIMEOUT=3
        grep -q 'cannot reach rank 2 on h2' out || fail "the pair is not named: $(cat out err)"
        ;;
    esac
done
finish
