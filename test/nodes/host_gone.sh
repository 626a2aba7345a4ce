#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A host dies while its ranks communicate: the job ends, the host or one of its ranks is named,
# nothing is left.
. "$(dirname "$0")/setup_hosts.sh"
"$MPICC" -o "$work/forever" "$SOURCE/test/nodes/forever.c" || fail "forever.c cannot be compiled"

cat >"$work/go" <<'EOT'
cd "$1"
timeout 50 "$2" --launch-agent agent -host h1:2,h2:1,h3:2 -np 5 ./forever "$1/begun" >said 2>&1 </dev/null &
job=$!
until [ -e begun ]; do sleep 0.05; done
agent h2 "$3"
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
sh left forever h1 h3
EOT
# dies HOW: HOW is a command for h2
dies() {
    rm -f "$work/begun"
    expect_on 0 --hosts 3 --slots 2 -- sh "$work/go" "$work" "$MPIRUN" "$1"
    grep -q '^code 1[0-9]*: ' out || fail "$1: mpirun returns success, or too late: $(cat out err)"
    grep -q 'h2' out || fail "$1: h2 is not named: $(cat out err)"
    [ "$(grep -c '^left on h[13]: \.$' out)" -eq 2 ] || fail "$1: something is left: $(cat out err)"
}
dies 'kill -9 -1'
dies 'ip link set eth0 down; kill -9 -1'

# gone PROGRAM OPTION...: the network of h2 vanishes once the program has begun. mpirun's own limit
# is high, so the rank that waits must detect the loss.
cat >"$work/go" <<'EOT'
cd "$1"
shift
WEFT_LOST_AFTER=600 timeout 50 "$@" "$PWD/begun" "$PWD/gone" >said 2>&1 </dev/null &
job=$!
until [ -e begun ]; do sleep 0.05; done
agent h2 'ip link set eth0 down'
: >gone
wait $job
echo "code $?: $(tr '\n' ' ' <said)"
EOT
gone() {
    program=$1
    shift
    "$MPICC" -o "$work/$program" "$SOURCE/test/nodes/$program.c" || fail "$program.c cannot be compiled"
    rm -f "$work/begun" "$work/gone"
    expect_on 0 --hosts 2 -- sh "$work/go" "$work" "$MPIRUN" --launch-agent agent "$@" "./$program"
    grep -q '^code 42: ' out || fail "a vanished network: $program: $(cat out err)"
}
gone vanished -host h1,h2 -np 2 -x WEFT_LOST_AFTER=3
# The host vanishes before the first message to it.
gone first_contact -host h1,h2:2 -np 3 -x WEFT_TIMEOUT=3
grep -q 'cannot reach rank 2 on h2' out || fail "the pair is not named: $(cat out err)"
finish
