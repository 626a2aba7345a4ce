/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix.h: what Weft offers beyond the standard, under names that begin with MPIX_. There is none yet;
 * a program can already ask at compile time which Weft it is built with, and with which MPI:
 * mpi.h has no such macro, because a program built with it runs over any library of the standard ABI.
 */
#ifndef MPIX_H_INCLUDED
#define MPIX_H_INCLUDED

#include <mpi.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION       "0.1.0"

#endif
