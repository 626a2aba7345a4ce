#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# No /sys, as in a bare chroot: what asks for the machine's parts works with what is known without
# it, and prints nothing.
. "$(dirname "$0")/judge.sh"
compile mpi/comm/parts.c

cat >without_sys <<'EOF'
#!/bin/sh
exec unshare $unshare sh -c 'mount --make-rprivate / && mount -t tmpfs tmpfs /sys && exec "$@"' sh "$@"
EOF
chmod +x without_sys
[ "$(id -u)" = 0 ] && unshare=-m || unshare=-rm
export unshare
./without_sys true 2>err || skip "a mount namespace is not permitted: $(head -n 1 err)"

for bind in none core; do
    expect 0 ./without_sys "$MPIRUN" --bind-to $bind -n 2 ./parts
    [ ! -s err ] && [ ! -s out ] || fail "--bind-to $bind: $(cat err out)"
done
nothing_left
finish
