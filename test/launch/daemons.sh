#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Daemons without other hosts: a launch agent starts them on this host, whatever host it is asked for. Tests that need several
# hosts are in hosts_start.sh and hosts_ends.sh.
. "$(dirname "$0")/setup.sh"
build_pmi_rank

cat >agent <<'EOF'
#!/bin/sh
echo "$*" >>agent.log
[ "$1" != mute ] || exit 7
shift
exec sh -c "$*"
EOF
chmod +x agent

# far CODE WORD...: mpirun with that agent; expects the exit code
far() {
    code=$1
    shift
    expect "$code" "$MPIRUN" --launch-agent ./agent "$@"
}

for hosts in n1 n1:2,n2,n3:3 'n[1-8]'; do
    for ranks in 1 5 8; do
        far 0 -host "$hosts" -n $ranks ./pmi_rank open board nodes say close
        [ "$(grep -c " of $ranks, local" out)" -eq $ranks ] || fail "$hosts, $ranks ranks: $(cat out)"
        [ ! -s err ] || fail "$hosts: printed on stderr: $(cat err)"
    done
done
far 0 -host n1,n2,n3 -n 7 ./pmi_rank open late halves board close
WEFT_LAUNCH_RADIX=2 far 0 -host 'n[1-7]' -n 9 ./pmi_rank open late halves board close
WEFT_LAUNCH_RADIX=1 far 0 -host 'n[1-5]' -n 5 ./pmi_rank open halves board close

# Places, and the variables in which ranks read them.
far 0 -host n1:2,n2 -n 5 sh -c 'echo $PMIX_HOSTNAME $RANK $LOCAL_RANK/$LOCAL_WORLD_SIZE'
[ "$(sort -k 2n out | tr '\n' ';')" = 'n1 0 0/4;n1 1 1/4;n2 2 0/1;n1 3 2/4;n1 4 3/4;' ] || fail "places: $(cat out)"
printf '# two dialects\nn1:1\nn2 slots=2 max_slots=2\nn3\n' >hosts
far 0 -hostfile hosts sh -c 'echo $PMIX_HOSTNAME $RANK'
[ "$(sort -k 2n out | tr '\n' ';')" = 'n1 0;n2 1;n2 2;n3 3;' ] || fail "host file: $(cat out)"
far 0 -hostfile hosts -host n2,n3 -map-by node sh -c 'echo $PMIX_HOSTNAME $RANK'
[ "$(sort -k 2n out | tr '\n' ';')" = 'n2 0;n3 1;n2 2;' ] || fail "host file and -host: $(cat out)"
far 0 -n 1 -host n1 sh -c 'echo a $PMIX_HOSTNAME' : -n 2 -host n2,n1 sh -c 'echo b $PMIX_HOSTNAME' : -n 1 sh -c 'echo c $PMIX_HOSTNAME'
[ "$(sort out | tr '\n' ';')" = 'a n1;b n2;b n2;c n1;' ] || fail "places of three programs: $(cat out)"

# The secret comes by stdin and is on no command line.
grep -q -v "^n[0-9]* '/.*/weftd'$" agent.log && fail "words of the agent: $(sort -u agent.log)"

# Standard files: more output than the credit of a daemon; input for rank 0, which may leave it unread.
seq 200000 >numbers
"$MPIRUN" --launch-agent ./agent -host n1,n2 -n 3 sh -c 'if [ $RANK = 0 ]; then md5sum; else wc -c; fi' <numbers >out 2>err
grep -q "$(md5sum <numbers | cut -c 1-32)" out || fail "input of rank 0: $(cat out err)"
[ "$(grep -c '^0$' out)" -eq 2 ] || fail "input of others: $(cat out)"
"$MPIRUN" --launch-agent ./agent -host n1 -n 1 true <numbers || fail "rank 0 that does not read: $?"
far 0 -host n1,n2,n3 -n 3 cat numbers
[ "$(sort -n out | uniq -c | awk '$1 == 3' | wc -l)" -eq 200000 ] || fail "output: $(wc out)"
far 0 -l -host n1,n2 -n 2 sh -c 'echo out; echo err >&2'
[ "$(sort out | tr '\n' ';')" = '[0] out;[1] out;' ] || fail "tags: $(cat out)"
[ "$(sort err | tr '\n' ';')" = '[0] err;[1] err;' ] || fail "tags: $(cat err)"
[ "$(timeout 60 "$MPIRUN" --launch-agent ./agent -host n1,n2 -n 2 yes | head -3 | wc -l)" -eq 3 ] || fail "a reader that leaves"

# Directory and environment.
mkdir sub
far 0 -host n1 -n 1 -wdir sub -x A='b  c' sh -c 'pwd; echo "$A"'
expect_output "$PWD/sub
b  c"
far 127 -host n1,n2 -n 2 -wdir none true
expect_text err 'on n[12]: the working directory none'
far 0 -host n1 -n 1 -genvnone sh -c 'echo "$HOME"'
expect_output ''
far 0 -report -host n1 -n 1 sh -c 'echo $WEFT_REPORT'
expect_output 1

# Daemons and programs that do not start: mpirun says why.
far 1 -host n1,mute -n 2 touch started
expect_text err 'on mute: .* ended with exit code 7'
far 127 -host n1,n2 -n 2 no-such-program
expect_text err 'on n[12]: the program no-such-program was not found'
far 126 -host n1 -n 1 ./numbers
far 1 --nooversubscribe -host n1,n2 -n 3 touch started
expect 127 "$MPIRUN" --launch-agent ./none -host n1 -n 1 touch started
expect_text err 'launch agent ./none was not found'
expect 1 "$MPIRUN" --launch-agent ./agent --prefix "$work" -host n1 -n 1 touch started
expect 1 "$MPIRUN" --launch-agent ./agent --iface none -host n1 -n 1 touch started
expect_text err 'no interface none'
[ ! -e started ] || fail "started in spite of all"

# Ends.
far 77 -host n1,n2 -n 4 ./pmi_rank open board abort=3,77 pause
expect_text err 'rank 3 (process [0-9]* on n2) aborted the job with code 77: told to abort'
far 137 -host n1,n2 -n 4 ./pmi_rank open kill=2 board pause
expect_text err 'rank 2 (process [0-9]* on n1) was killed by signal 9'
far 3 -host n1,n2 -n 4 ./pmi_rank open exit=1,3 pause
far 1 -host n1,n2 -n 4 ./pmi_rank open exit=1,0 pause
expect_text err 'without calling MPI_Finalize'
far 124 --timeout 1 -host n1,n2 -n 4 sleep $nap
MPIEXEC_TIMEOUT=1 far 124 -host n1,n2 -n 2 sleep $nap
expect 1 "$BUILD/weftd"
expect_text err 'started by mpirun'
finish
