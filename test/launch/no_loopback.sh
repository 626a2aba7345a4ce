#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Without a loopback interface, as in a fresh network namespace, PMIx cannot work: programs that are not MPI run, and MPI
# programs say what is missing.
. "$(dirname "$0")/setup.sh"
printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }\n' >inits.c
"${MPICC:-$BUILD/tools/mpicc}" -o inits inits.c || exit 1

# isolated WORD...: what to put before a command so that it runs in a network of its own
if unshare --net true 2>/dev/null; then
    isolated="unshare --net"
elif unshare --user --map-root-user --net true 2>/dev/null; then
    isolated="unshare --user --map-root-user --net"
else
    echo "no network namespaces"
    exit 77
fi

refused='mpirun has no PMIx server for MPI programs: the loopback interface lo of [^ ]* is down'
expect 0 $isolated "$MPIRUN" -n 2 sh -c 'echo $RANK of $WORLD_SIZE'
[ "$(sort out)" = "$(printf '0 of 2\n1 of 2')" ] && [ ! -s err ] || fail "no MPI: $(cat out err)"
expect 16 timeout 20 $isolated "$MPIRUN" -n 2 ./inits
expect_text err "MPI_Init: $refused"
[ "$(grep -cvE "MPI_Init: $refused|^mpirun: rank . " err)" -eq 0 ] || fail "more is said: $(cat err)"
expect 0 timeout 20 $isolated "$MPIRUN" -n 1 ./inits
[ ! -s err ] || fail "one rank: $(cat err)"
expect 5 $isolated "$MPIRUN" -n 2 sh -c 'exit 5'

command -v ip >/dev/null || finish
# Another interface is no help: what is sent to an address of this host goes through lo.
cat >other <<'EOF'
ip link add one type veth peer name two && ip address add 192.0.2.1/24 dev one && ip link set one up && ip link set two up || exit 0
"$@"
[ $? -eq 16 ]
EOF
expect 0 timeout 20 $isolated sh other "$MPIRUN" -n 2 ./inits
expect 0 timeout 20 $isolated sh -c 'ip link set lo up && exec "$@"' up "$MPIRUN" -n 2 ./inits
[ ! -s err ] || fail "with lo: $(cat err)"
finish
