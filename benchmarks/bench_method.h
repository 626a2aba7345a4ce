/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By which method a library does collectives on device memory, as far as it counts them in
 * performance variables of MPI_T named device_calls_<method>. Weft does; with other libraries
 * nothing is known.
 */
#ifndef BENCH_METHOD_H
#define BENCH_METHOD_H

#include <stddef.h>

/* Find the variables. MPI must be initialised; without a call of this, no calls are counted. */
void bench_method_open(void);
void bench_method_close(void);

/* Count from here. */
void bench_method_begin(void);

/**
 * The methods of the calls since bench_method_begin, on all ranks of MPI_COMM_WORLD, which all call
 * this.
 *
 * out      [bytes] on rank 0: "direct"; with several "direct 90%, p2p 10%"; "" if nothing is known
 */
void bench_method_end(char *out, size_t bytes);

#endif
