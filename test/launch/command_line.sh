#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command line: what is refused, and what is accepted for scripts that know other launchers.
. "$(dirname "$0")/setup.sh"

# refuse PATTERN WORD...
refuse() {
    pattern=$1
    shift
    expect 2 "$MPIRUN" "$@" touch started
    expect_text err "$pattern"
    [ ! -e started ] || fail "started in spite of: $*"
}
refuse 'no option --prepend-rnak; the nearest is --prepend-rank' --prepend-rnak
refuse 'no option -nq' -nq 4
refuse 'whole number' -n x
refuse 'whole number' -n 0
refuse 'whole number' -n -1
refuse 'takes no value' --oversubscribe=1
refuse 'the host far-away is not this one' -host far-away
refuse 'the host far-away is not this one' --host localhost,far-away:4
echo 'far-away slots=4' >hosts
refuse 'the host far-away is not this one' --hostfile hosts
refuse 'host file ./none' -hostfile ./none
expect 2 "$MPIRUN"
expect_text err 'no program'
expect 2 "$MPIRUN" -n 3
expect 2 "$MPIRUN" -n
expect_text err 'wants N'
expect 1 "$MPIRUN" --nooversubscribe -n 4000 touch started
[ ! -e started ] || fail "started in spite of --nooversubscribe"

# count RANKS OPTION...: without a word on stderr
count() {
    ranks=$1
    shift
    expect 0 "$MPIRUN" "$@" echo x
    [ "$(wc -l <out)" -eq $ranks ] || fail "$(wc -l <out) ranks, not $ranks: $*"
    [ ! -s err ] || fail "$*: $(cat err)"
}
count 3 -n 3
count 3 --n=3 --oversubscribe --allow-run-as-root -mca pml ob1 --mca btl self
count 3 -np 3 --bind-to none -q --map-by core
count 3 -c 3 -host localhost -ppn 2
count 2 -ppn 2
count 4 --host "localhost:3,$(hostname)"':1'
printf '# mine\nlocalhost slots=2\n\n127.0.0.1:1\n' >hosts
count 3 -hostfile hosts
count "$(nproc)"
expect 0 "$MPIRUN" -n 1 --bind-to core --map-by slot --report-bindings true
[ "$(wc -l <err)" -eq 1 ] || fail "more than one note: $(cat err)"
expect 0 "$MPIRUN" -n 1 -- echo -n
expect 0 "$MPIRUN" --help
expect_text out '--timeout SECONDS'
expect 0 "$MPIRUN" -version
expect_text out Weft
ln -s "$MPIRUN" mpiexec
expect 127 ./mpiexec -n 1 no-such-program
expect_text err '^mpiexec: '
finish
