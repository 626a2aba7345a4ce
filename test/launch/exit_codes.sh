#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What mpirun returns, and that one failing rank ends the job.
. "$(dirname "$0")/setup.sh"

expect 0 "$MPIRUN" -n 5 true
expect 1 "$MPIRUN" -n 3 false
expect_text err 'rank [0-2] .* exited with code 1'
expect 7 "$MPIRUN" -n 3 sh -c '[ $RANK -ne 2 ] || exit 7; exec sleep '$nap
expect_text err '^mpirun: rank 2 (process [0-9]* on .*) exited with code 7'
[ "$(wc -l <err)" -eq 1 ] || fail "more than one message: $(cat err)"
expect_nothing_left
expect 139 "$MPIRUN" -n 2 sh -c '[ $RANK -eq 0 ] || kill -SEGV $$; exec sleep '$nap
expect_text err 'rank 1 .* killed by signal 11 (Segmentation fault)'
expect_nothing_left

# If one program cannot be started, none is.
expect 127 "$MPIRUN" -n 2 no-such-program
expect_text err 'no-such-program was not found'
expect 127 "$MPIRUN" -n 2 ./no-such-program
expect 127 "$MPIRUN" -n 2 touch started : -n 1 no-such-program
[ ! -e started ] || fail "a rank was started beside a program that is not there"
echo text >text
expect 126 "$MPIRUN" -n 2 ./text
expect 126 "$MPIRUN" -n 2 "$work"
printf '#!/no/such/interpreter\n' >a-script
chmod +x a-script
expect 127 "$MPIRUN" -n 2 ./a-script
case ${SANITIZERS-} in
*thread*) ;; # it makes a fork of our vfork, by which mpirun learns the reason
*) expect_text err interpreter ;;
esac
expect 127 "$MPIRUN" -n 1 sleep $nap : -n 1 ./a-script
expect_nothing_left
# A script without "#!" is run by the shell, and the working directory is searched after PATH.
printf 'exit 6\n' >a-script
expect 6 "$MPIRUN" -n 1 a-script

# A program that somebody writes is waited for, but not for long.
printf '#!/bin/sh\n' >busy
chmod +x busy
exec 9>>busy
expect 126 "$MPIRUN" -n 2 ./busy
exec 9>&-
expect 0 "$MPIRUN" -n 2 ./busy

# Where few files may be open mpirun fails or not, and leaves nothing behind.
for files in 8 10 11 12 13 14 15 16 17 18 20 22; do
    timeout 20 sh -c "ulimit -n $files; exec \"\$0\" -n 4 true" "$MPIRUN" >out 2>err </dev/null
    got=$?
    case $got in
    0) [ $files -ge 16 ] || fail "files: $files are said to be enough" ;;
    1) [ -s err ] || fail "files: $files are too few, and mpirun says nothing" ;;
    *) fail "files: exit code $got with $files: $(head -c 300 err)" ;;
    esac
    expect_nothing_left
done

# Time limits
expect 124 "$MPIRUN" --timeout 1 -n 2 sleep $nap
expect_text err 'has not ended within 1 s'
expect 124 env MPIEXEC_TIMEOUT=1 "$MPIRUN" -n 2 sleep $nap
expect 0 "$MPIRUN" --timeout 60 -n 2 true
finish
