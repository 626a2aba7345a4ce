#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Install, look at what is there, use it from another place, uninstall: nothing is left.
set -eu
place=$(mktemp -d "$BUILD/test-out/install.XXXXXX")
trap 'rm -rf "$place"' EXIT
"${MAKE:-make}" -s -C "$BUILD" install DESTDIR="$place/staged" > "$place/log" 2>&1 || {
    cat "$place/log"
    exit 1
}
prefix=$("$BUILD/weft_info" --parsable --build | sed -n 's/^build:prefix://p')
here=$place/staged$prefix

for file in bin/mpicc bin/mpicxx bin/mpic++ bin/mpiCC bin/mpicc_abi bin/weft_info \
    include/mpi.h include/mpix.h lib/libmpi_abi.so lib/libmpi_abi.so.1 lib/libmpi.so \
    lib/pkgconfig/mpi-c.pc lib/pkgconfig/mpi-cxx.pc lib/pkgconfig/weft.pc; do
    [ -e "$here/$file" ] || {
        echo "$file is not installed"
        exit 1
    }
done

# The staged tree lies elsewhere than it was configured for: the wrapper has to find itself there.
if [ ! -e "$prefix/lib/libmpi_abi.so" ]; then
    cat > "$place/program.c" <<'C'
#include <mpi.h>
int main(void)
{
    int (*volatile init)(int *, char ***) = MPI_Init;
    return init == 0;
}
C
    "$here/bin/mpicc" -o "$place/program" "$place/program.c"
    "$place/program"
    "$here/bin/mpicxx" -x c++ -o "$place/program" "$place/program.c"
    "$place/program"
    ldd "$place/program" | grep -q "libmpi_abi.so.1 => $here/lib/" || {
        echo "the program takes its library from elsewhere:"
        ldd "$place/program"
        exit 1
    }
fi

"${MAKE:-make}" -s -C "$BUILD" uninstall DESTDIR="$place/staged" > "$place/log" 2>&1
left=$(find "$place/staged" ! -type d)
[ -z "$left" ] || {
    echo "make uninstall leaves: $left"
    exit 1
}
