#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun says so in one line if its ranks ran alone, because their program has another MPI library.
. "$(dirname "$0")/setup.sh"
compiler="$(sed -n 's/^unit_cc //p' "$BUILD/test/settings") -fvisibility=default"
unset LD_LIBRARY_PATH
note="note: no rank has joined"

mkdir other
printf 'int MPI_Init(int *a, char ***b);\nint MPI_Init(int *a, char ***b) { return a == 0 && b == 0; }\n' >other.c
printf 'int MPI_Init(int *, char ***);\nint main(int c, char **v) { MPI_Init(&c, &v); return c > 1 ? 3 : 0; }\n' >program.c
printf 'int main(void) { return 0; }\n' >plain.c
$compiler -shared -fPIC -o other/libmpi.so.99 -Wl,-soname,libmpi.so.99 other.c || exit 1
$compiler -o program program.c other/libmpi.so.99 -Wl,-rpath,"$work/other" || exit 1
$compiler -o plain plain.c || exit 1
"${MPICC:-$BUILD/tools/mpicc}" -o ours program.c || exit 1
"${MPICC:-$BUILD/tools/mpicc}" -Wl,--no-as-needed -o idle plain.c || exit 1

# says_it OPTION...: the note comes once, and names program and library; the exit code is that of the ranks.
says_it() {
    expect 0 "$MPIRUN" -n 3 "$@"
    [ "$(grep -c "$note" err)" = 1 ] || fail "$*: $(cat err)"
    expect_text err "program uses $work/other/libmpi.so.99, which is not Weft's"
}
says_it ./program
says_it -wdir "$work/other" ../program
PATH=$work:$PATH says_it program
says_it ./plain : -n 1 ./program
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >agent
chmod +x agent
says_it --launch-agent ./agent -host n1,n2 ./program

expect 3 "$MPIRUN" -n 2 ./program 1
expect_text err "$note"

# is_silent WORD...
is_silent() {
    expect 0 "$MPIRUN" "$@"
    [ ! -s err ] || fail "$*: $(cat err)"
}
is_silent -n 1 ./program
is_silent -q -n 2 ./program
is_silent -n 2 ./plain
is_silent -n 2 hostname
is_silent -n 2 sh -c 'exit 0'
is_silent -n 2 ./idle # linked with Weft, but never calls it
expect 3 "$MPIRUN" -n 2 ./ours 1 # has joined, and fails otherwise
! grep -q "$note" err || fail "ours: $(cat err)"
expect 124 "$MPIRUN" --timeout 1 -n 2 sh -c 'exec sleep '$nap
! grep -q "$note" err || fail "time limit: $(cat err)"
finish
