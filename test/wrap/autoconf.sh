#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A usual Autotools project: CC=mpicc ./configure, with probes for functions and headers.
set -eu
command -v autoconf >/dev/null || {
    echo "needs autoconf"
    exit 77
}
. "$SOURCE/test/wrap/stage"
mkdir "$place/project"
cd "$place/project"
cat > configure.ac <<'E2'
AC_INIT([uses_mpi], [1])
AC_LANG([C])
AC_PROG_CC
AC_PROG_CXX
AC_CHECK_HEADERS([mpi.h], [], [AC_MSG_ERROR([no mpi.h])])
AC_CHECK_FUNC([MPI_Init], [], [AC_MSG_ERROR([MPI_Init is not in what CC links])])
AC_CHECK_FUNC([MPI_Errhandler_set], [], [AC_MSG_ERROR([what MPI 3.0 removed is not found])])
AC_CHECK_FUNC([MPI_No_such_function], [AC_MSG_ERROR([every function is found])])
AC_CHECK_LIB([mpi_abi], [MPI_Init], [], [AC_MSG_ERROR([-lmpi_abi does not link])])
AC_LANG_PUSH([C++])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[MPI_Init(0, 0);]])], [], [AC_MSG_ERROR([C++ does not link])])
AC_LANG_POP
AC_OUTPUT
E2
autoconf
./configure CC=mpicc CXX=mpicxx > log 2>&1 || {
    cat log
    exit 1
}
