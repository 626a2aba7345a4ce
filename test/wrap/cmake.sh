#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CMake's FindMPI, unmodified, finds an installed Weft on PATH; C and C++ programs link with it.
set -eu
command -v cmake >/dev/null || {
    echo "needs cmake"
    exit 77
}
[ -z "${SANITIZERS-}" ] || {
    echo "FindMPI leaves out -fsanitize when it links"
    exit 77
}
. "$SOURCE/test/wrap/stage"
cat > "$place/CMakeLists.txt" <<'E2'
cmake_minimum_required(VERSION 3.10)
project(uses_mpi C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
add_executable(c_program program.c)
target_link_libraries(c_program MPI::MPI_C)
add_executable(cxx_program program.cxx)
target_link_libraries(cxx_program MPI::MPI_CXX)
E2
cat > "$place/program.c" <<'E2'
#include <mpi.h>
int main(void)
{
    int (*volatile init)(int *, char ***) = MPI_Init;
    return MPI_VERSION != 5 || init == 0;
}
E2
cp "$place/program.c" "$place/program.cxx"
cmake -S "$place" -B "$place/out" > "$place/log" 2>&1 && cmake --build "$place/out" >> "$place/log" 2>&1 || {
    cat "$place/log"
    exit 1
}
ldd "$place/out/c_program" | grep -q "libmpi_abi.so.1 => $here/lib/" || {
    echo "FindMPI took another MPI:"
    grep "Found MPI" "$place/log"
    exit 1
}
"$place/out/c_program"
"$place/out/cxx_program"
grep -q 'MPI_C_VERSION:INTERNAL=5\|Found MPI_C.*version "5' "$place/log" "$place/out/CMakeCache.txt" || {
    echo "FindMPI saw another version:"
    grep "Found MPI" "$place/log"
    exit 1
}

# Fortran is not found, rather than that of another MPI library behind Weft in PATH.
command -v gfortran >/dev/null || exit 0
. "$SOURCE/test/wrap/other_mpi"
mkdir "$place/with_fortran"
cat > "$place/with_fortran/CMakeLists.txt" <<'E2'
cmake_minimum_required(VERSION 3.10)
project(uses_mpi C Fortran)
find_package(MPI COMPONENTS C Fortran)
message("found: C ${MPI_C_FOUND} Fortran ${MPI_Fortran_FOUND} ${MPI_Fortran_COMPILER}")
E2
cmake -S "$place/with_fortran" -B "$place/fortran_out" > "$place/log" 2>&1
grep -q "found: C TRUE Fortran FALSE " "$place/log" || {
    echo "FindMPI took another MPI's Fortran, or no C:"
    grep "found: " "$place/log"
    exit 1
}
