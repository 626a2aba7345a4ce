#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A /dev/shm with little room, or none: jobs run with what there is, or say what is missing.
# Containers have 64 MB as a rule, and some have nothing.
. "$(dirname "$0")/judge.sh"
compile outside/all_sorts.c fault/deny.c

# with OPTIONS COMMAND...: run a command with a /dev/shm of its own, mounted with these options
cat >with <<'EOF'
#!/bin/sh
options=$1
shift
exec unshare $unshare sh -c 'mount --make-rprivate / && mount -t tmpfs -o "$0" tmpfs /dev/shm && exec "$@"' "$options" "$@"
EOF
chmod +x with
[ "$(id -u)" = 0 ] && unshare=-m || unshare=-rm
export unshare
./with size=64k true 2>err || skip "a mount namespace is not permitted: $(head -n 1 err)"

# works WAY OPTIONS RANKS: the job succeeds and prints nothing on stderr
works() {
    expect 0 env WEFT_SHM="$1" ./with "$2" "$MPIRUN" -n "$3" "$work/all_sorts"
    expect_output "Weft on $3 ranks"
    [ ! -s err ] || fail "WEFT_SHM=$1, $2: $(cat err)"
}

# refuses WAY OPTIONS RANKS WHY: the job fails and says why
refuses() {
    expect 39 env WEFT_SHM="$1" ./with "$2" "$MPIRUN" -n "$3" "$work/all_sorts"
    expect_text err "cannot make the shared segment of $3 ranks, [0-9]* bytes at least (WEFT_SHM=$1): /dev/shm/.*: $4"
    [ ! -s out ] || fail "WEFT_SHM=$1, $2: $(cat out)"
}

for options in size=64k size=1m ro; do
    for ranks in 2 4 16; do
        works auto $options $ranks
    done
    works memfd $options 3
done
works file size=64k 2
works file size=1m 4
works file size=64m 16
refuses file size=64k 4 'No space left on device'
refuses file size=1m 16 'No space left on device'
refuses file ro 2 'Read-only file system'

# Neither memfd_create nor room for a file
for options in size=64k ro; do
    expect 39 ./with $options "$MPIRUN" -n 4 ./deny memfd_create ./all_sorts
    expect_text err 'cannot make the shared segment of 4 ranks'
done
expect 0 ./with size=1m "$MPIRUN" -n 4 ./deny memfd_create ./all_sorts
expect_output 'Weft on 4 ranks'
nothing_left
finish
