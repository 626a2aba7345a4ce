#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install, check the files, use the library from another place, uninstall: nothing is left.
set -eu
. "$SOURCE/test/wrap/stage"

for file in bin/mpicc bin/mpicxx bin/mpic++ bin/mpiCC bin/mpicc_abi bin/weft_info \
    bin/mpifort bin/mpif90 bin/mpif77 \
    include/mpi.h include/mpi-ext.h include/mpix.h include/weft_nccl.h lib/libmpi_abi.so lib/libmpi_abi.so.1 lib/libmpi.so \
    lib/pkgconfig/mpi-c.pc lib/pkgconfig/mpi-cxx.pc lib/pkgconfig/weft.pc; do
    [ -e "$here/$file" ] || {
        echo "$file is not installed"
        exit 1
    }
done

# A page for each program and each function that the library has, and no other.
ls "$here/bin" | sed 's/$/.1/' | sort > "$place/programs"
ls "$here/share/man/man1" | sort | diff "$place/programs" - || {
    echo "the programs (<) and their man pages (>) differ"
    exit 1
}
nm -D --defined-only "$here/lib/libmpi_abi.so" | sed -n 's/.* \(MPIX\{0,1\}_[A-Za-z0-9_]*\)$/\1/p' |
    grep -vxF -f "$SOURCE/src/mpi/unsupported.list" | sed 's/$/.3/' | sort > "$place/functions"
ls "$here/share/man/man3" | sort | diff "$place/functions" - || {
    echo "the functions (<) and their man pages (>) differ"
    exit 1
}

cat > "$place/program.c" <<'C'
#include <mpi.h>
int main(void)
{
    int (*volatile init)(int *, char ***) = MPI_Init;
    return init == 0;
}
C
cp "$place/program.c" "$place/program.cxx"
for build in "mpicc $place/program.c" "mpicxx $place/program.cxx" "mpic++ $place/program.cxx"; do
    $build -o "$place/program"
    "$place/program"
    ldd "$place/program" | grep -q "libmpi_abi.so.1 => $here/lib/" || {
        echo "$build: the program takes its library from elsewhere:"
        ldd "$place/program"
        exit 1
    }
done

for wrapper in mpifort mpif90 mpif77; do
    if answer=$($wrapper -show 2>&1); then
        echo "$wrapper succeeds: $answer"
        exit 1
    fi
    [ "${answer#"$wrapper: Weft "*" has no Fortran interface yet"}" != "$answer" ] || {
        echo "$wrapper says: $answer"
        exit 1
    }
done

in_build uninstall
left=$(find "$place/staged" ! -type d)
[ -z "$left" ] || {
    echo "make uninstall leaves: $left"
    exit 1
}
