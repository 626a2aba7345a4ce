/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix.h: what Weft offers beyond the standard, under names that begin with MPIX_. A program can also ask
 * at compile time which Weft it is built with, and with which MPI: mpi.h has no such macro, because a
 * program built with it runs over any library of the standard ABI.
 */
#ifndef MPIX_H_INCLUDED
#define MPIX_H_INCLUDED

#include <mpi.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
#define WEFT_VERSION       "0.1.0"

/*
 * 16-bit floating point: IEEE 754 binary16 (_Float16), and bfloat16, the upper half of a float. They are
 * in the group "floating point" of predefined operations: MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX. Numbers
 * are combined as floats. On the host each combination of two is rounded to 16 bits, to the nearest,
 * ties to even; on devices all that is combined at once is rounded once, in the order of ranks.
 *
 * Like MPI's own, these handles are constants. The standard ABI reserves the values below 0x1000 (MPI 5.0,
 * section 21.3.3); Weft's extensions lie from there to 0x1fff, which no object's address can be. Bits 5:3
 * encode the size as in the standard's. Other libraries take them for handles that they did not make.
 */
#define MPIX_C_FLOAT16 ((MPI_Datatype)0x0000124a)
#define MPIX_BFLOAT16  ((MPI_Datatype)0x0000124b)

/*
 * Device memory (CUDA). All calls take pointers to it, in every build and without any setting: the driver
 * is the one that the program has loaded. 1: this run does so; 0: it was switched off (WEFT_DEVICE=no). May
 * be called at any time, before MPI_Init and after MPI_Finalize as well.
 */
#define MPIX_CUDA_AWARE_SUPPORT 1

#ifdef __cplusplus
extern "C" {
#endif
int MPIX_Query_cuda_support(void);
int PMPIX_Query_cuda_support(void);
#ifdef __cplusplus
}
#endif

#endif
