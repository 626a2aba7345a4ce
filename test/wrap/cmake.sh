#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# CMake's FindMPI, unmodified, finds the build tree through its wrappers; C and C++ programs link.
set -eu
command -v cmake >/dev/null || {
    echo "needs cmake"
    exit 77
}
place=$(mktemp -d "$BUILD/test-out/cmake.XXXXXX")
trap 'rm -rf "$place"' EXIT
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
unset MAKE
cmake -S "$place" -B "$place/out" -DMPI_C_COMPILER="$MPICC" -DMPI_CXX_COMPILER="$MPICXX" \
    -DMPIEXEC_EXECUTABLE="$MPIRUN" > "$place/log" 2>&1 && cmake --build "$place/out" >> "$place/log" 2>&1 || {
    cat "$place/log"
    exit 1
}
"$place/out/c_program"
"$place/out/cxx_program"
grep -q 'MPI_C_VERSION:INTERNAL=5\|Found MPI_C.*version "5' "$place/log" "$place/out/CMakeCache.txt" || {
    echo "FindMPI saw another version:"
    grep "Found MPI" "$place/log"
    exit 1
}
