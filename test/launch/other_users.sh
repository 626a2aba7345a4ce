#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Another user of the host gets nowhere: no rank, no answer, and the job ends as it would have.
. "$(dirname "$0")/setup.sh"
as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
[ "$(id -u)" = 0 ] && $as_nobody true 2>/dev/null || {
    echo "this is not root, so there is no other user to be"
    exit 77
}
# A Python that this user may run, too
for python in ${PYTHON-} python3 /usr/bin/python3 ''; do
    $as_nobody $python -c '' 2>/dev/null && break
done
[ -n "$python" ] || {
    echo "another user has no Python"
    exit 77
}
build_pmi_rank
$(sed -n 's/^unit_cc //p' "$BUILD/test/settings") -rdynamic -o other_user "$SOURCE/test/launch/other_user.c" \
    $(sed -n 's/^unit_libs //p' "$BUILD/test/settings") || exit 1
$(sed -n 's/^cc //p' "$BUILD/test/settings") -o deny "$SOURCE/test/fault/deny.c" || exit 1
cp "$SOURCE/test/launch/other_user.py" .
chmod 755 . other_user other_user.py

# strangers COMMAND...: a job, with mpirun started by that command, that another user tries to get into.
strangers() {
    rm -f go there.* env.*
    # The ranks wait before they join; rank 0 ends with 3 in the end.
    "$@" "$MPIRUN" -n 2 sh -c 'env >env.$PMIX_RANK; : >there.$PMIX_RANK; until [ -e go ]; do sleep 0.05; done; "$0" open board close || exit 9; exit $((3 - 3 * PMIX_RANK))' \
        ./pmi_rank >job_out 2>job_err &
    job=$!
    until_true test -e there.0 -a -e there.1
    environment=$(grep '^PMIX_' env.1)

    timeout 20 $as_nobody env $environment ./other_user >out 2>err
    [ $? -ne 0 ] || fail "another user became a rank: $(cat out)"
    timeout 100 $as_nobody $python ./other_user.py "$(sed -n 's/^PMIX_SERVER_URI[0-9]*=//p' env.1 | head -n 1)" 500 >out 2>err ||
        fail "another user was heard: $(tail -n 3 err)"

    # While another user holds connections open, the ranks join and leave.
    $as_nobody $python ./other_user.py "$(sed -n 's/^PMIX_SERVER_URI[0-9]*=//p' env.1 | head -n 1)" 1000 >out 2>err &
    other=$!
    : >go
    wait $job
    code=$?
    [ $code -eq 3 ] || fail "the job ended with $code, not 3: $(cat job_out job_err)"
    expect_text job_err 'a process of another user has tried to connect'
    kill $other 2>/dev/null
    wait $other
}
strangers env
# Where the kernel has no sock_diag, its table of connections tells the user.
strangers ./deny sock_diag

# Nor does it at the port of rank 0 where there is no launcher: not a byte is sent.
"$MPICC" -o ranks_alone "$SOURCE/test/launch/ranks_alone.c" || exit 1
cat >caller.py <<'EOT'
import socket, sys, time
for _ in range(1000):
    try:
        caller = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
        break
    except OSError:
        time.sleep(0.02)
try:
    print(len(caller.recv(100)))
except ConnectionResetError:
    print(0)
EOT
port=$(PYTHON=$python; free_port)
meeting="env WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port"
$meeting RANK=0 timeout 50 ./ranks_alone >job_out 2>&1 &
rank0=$!
expect 0 $as_nobody $python ./caller.py $port
expect_output 0
expect 0 $python ./caller.py $port
expect_output 24
expect 0 $meeting RANK=1 ./ranks_alone
wait $rank0 || fail "rank 0 among other users: $(cat job_out)"
finish
