/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every file of MPI functions includes this first. The library is compiled with hidden visibility;
 * it exports the declarations of mpi.h and mpix.h.
 *
 *     WEFT_API(MPI_Send_c);
 *     int PMPI_Send_c(const void *buf, MPI_Count count, ...) { ... }
 *
 * PMPI_x is the function; MPI_x is a weak second name for it, which a profiling tool may replace
 * (MPI 5.0, section 15.2).
 */
#ifndef WEFT_MPI_API_H
#define WEFT_MPI_API_H

#pragma GCC visibility push(default)
#include <mpi.h>
#include <mpix.h>
#pragma GCC visibility pop

#define WEFT_API(name)                                                                             \
    extern __typeof__(P##name) name __attribute__((weak, alias("P" #name), visibility("default")))

#endif
