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
refuse 'number of slots is "x"' --host localhost:x
refuse 'brackets want numbers' --host 'node[a-b]'
refuse 'no name of a host' --host '$(touch started)'
refuse 'something like ppr:4:node' --map-by ppr:node
: >hosts
refuse 'hosts names no host' --hostfile hosts
echo 'localhost max_slots=0' >hosts
refuse 'number of slots is "0"' --hostfile hosts
refuse 'host file ./none' -hostfile ./none
refuse 'none, not "all"' --stdin all -n 2
refuse 'none, not "-1"' --stdin=-1 -n 2
refuse '%q is none of' --outfile-pattern 'out.%q'
refuse '% is none of' --errfile-pattern 'out.%'
refuse 'name of a folder' --output-filename 'out:nojobid'
refuse 'no/such: No such file' --configfile no/such :
printf 'x "y\n' >words
refuse 'words, line 1: a quote' --configfile words :
printf '# nothing\n\n' >words
refuse 'names no program' --configfile words :
echo '-n 1 true' >words
refuse 'behind it belongs into the file' --configfile words
echo '--configfile words -n 1 true' >words
refuse 'only one of it' --configfile words :
expect 2 "$MPIRUN"
expect_text err 'no program'
expect 2 "$MPIRUN" -n 3
expect 2 "$MPIRUN" -n
expect_text err 'wants N'
echo 'localhost slots=1 max_slots=2' >hosts
expect 1 "$MPIRUN" --hostfile hosts -n 3 touch started
expect_text err 'max_slots'
expect 1 "$MPIRUN" --nooversubscribe -n 4000 touch started
[ ! -e started ] || fail "started in spite of --nooversubscribe"

# count RANKS OPTION...: so many ranks start, and nothing is written to stderr
count() {
    ranks=$1
    shift
    expect 0 "$MPIRUN" "$@" echo x
    [ "$(wc -l <out)" -eq $ranks ] || fail "$(wc -l <out) ranks, not $ranks: $*"
    [ ! -s err ] || fail "$*: $(cat err)"
}
count 3 -n 3
count 3 --n=3 --oversubscribe --allow-run-as-root -mca pml ob1 --mca btl self
count 3 -np 3 --bind-to none -q --map-by slot
count 3 -c 3 -host localhost -ppn 2
count 2 -ppn 2
count 4 --host "localhost:3,$(hostname)"':1'
printf '# mine\nlocalhost slots=2\n\n127.0.0.1:1\n' >hosts
count 3 -hostfile hosts
count "$(nproc)"
count 3 --map-by ppr:3:node
count 1 --pernode
count 3 -host localhost -ppn 2 -n 3 --map-by node:OVERSUBSCRIBE
expect 0 "$MPIRUN" -n 1 --bind-to core --map-by core --report-bindings true
[ "$(wc -l <err)" -eq 1 ] || fail "more than one note: $(cat err)"
expect 0 "$MPIRUN" -n 1 --arch x86 --file none true
[ "$(wc -l <err)" -eq 1 ] || fail "--arch, --file: $(cat err)"
expect 0 "$MPIRUN" -n 1 -- echo -n

# The rest of the command line in a file
cat >words <<'EOF'
# Two programs
-n 2 sh -c 'echo "$RANK: $1, $2"' \
    x "a  \"b\"" c\ d

  -n 1 -x W="it's" sh -c 'echo $RANK: $W'
EOF
printf '0: a  "b", c d\n1: a  "b", c d\n2: it'"'"'s\n3: last' >wanted
for command in '-configfile words' '--quiet --configfile=words'; do
    expect 0 "$MPIRUN" $command : -n 1 sh -c 'echo $RANK: last'
    [ "$(sort out)" = "$(cat wanted)" ] || fail "$command: $(cat out)"
done
expect 0 "$MPIRUN" -n 1 echo -configfile words
expect_output '-configfile words'

# --path, the search path for programs
mkdir tools
printf '#!/bin/sh\necho mine\n' >tools/echo
chmod +x tools/echo
expect 0 "$MPIRUN" --path "/none:$work/tools" -n 1 echo
expect_output mine
expect 127 "$MPIRUN" -path /none -n 1 echo
expect_text err 'was not found in the folders of --path'
expect 0 "$MPIRUN" --help
expect_text out '--timeout SECONDS'
expect 0 "$MPIRUN" -version
expect_text out Weft
ln -s "$MPIRUN" mpiexec
expect 127 ./mpiexec -n 1 no-such-program
expect_text err '^mpiexec: '
expect 2 ./mpiexec --configfile no/such
expect_text err '^mpiexec: '
finish
