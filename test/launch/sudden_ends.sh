#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank or mpirun itself is killed: nothing is left, grandchildren and segments included.
. "$(dirname "$0")/setup.sh"

# Each rank starts a child of its own, makes a segment as the library does, and waits.
cat >rank <<EOF
touch /dev/shm/\$PMIX_NAMESPACE.\$RANK
echo \$PMIX_NAMESPACE >job
echo \$\$ >pid.\$RANK
sleep $nap &
exec sleep $nap
EOF

segments() {
    ls "/dev/shm/$(cat job)".* 2>/dev/null | wc -l
}

has_segments() {
    [ "$(segments)" -eq "$1" ]
}

start() {
    rm -f job pid.*
    "$MPIRUN" -n 3 sh rank >out 2>err </dev/null &
    mpirun=$!
    until_true has_naps 6
    until_true has_segments 3
}

start
kill -KILL "$(cat pid.1)"
wait $mpirun
got=$?
[ $got -eq 137 ] || fail "exit code $got, expected 137"
expect_text err "rank 1 (process $(cat pid.1) on .*) was killed by signal 9"
has_segments 0 || fail "segments are left"
expect_nothing_left

start
kill -KILL $mpirun
wait $mpirun 2>/dev/null
expect_nothing_left
until_true has_segments 0

# mpirun dies the moment that it has made the job's directory.
cat >deadly.c <<'EOF'
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int mkdir(const char *path, mode_t mode)
{
    int result = mkdirat(AT_FDCWD, path, mode);
    if (strstr(path, "/weft-") != NULL)
        kill(getpid(), SIGKILL);
    return result;
}
EOF
$(sed -n 's/^cc //p' "$BUILD/test/settings") -shared -fPIC -o deadly.so deadly.c || fail "deadly.c cannot be compiled"
expect 137 env ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" LD_PRELOAD="$work/deadly.so" "$MPIRUN" -n 1 sleep "$nap"
expect_nothing_left

# The whole process group of mpirun, as by timeout -s KILL.
timeout -s KILL 1 "$MPIRUN" -n 3 sh rank >out 2>err </dev/null
expect_nothing_left
until_true has_segments 0
finish
