/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of MPI functions that are not implemented yet (unsupported.list). */
#ifndef WEFT_MPI_UNSUPPORTED_H
#define WEFT_MPI_UNSUPPORTED_H

#include "mpi.h"

/**
 * Raise the error that `function` is not implemented yet.
 *
 * function   its name with MPI_ in front; lives as long as the program
 * returns    a code of class MPI_ERR_UNSUPPORTED_OPERATION whose text names the function
 */
int weft_unsupported(const char *function) __attribute__((cold));

/** As weft_unsupported(), for what may be called before MPI_Init and after MPI_Finalize. */
int weft_unsupported_anytime(const char *function) __attribute__((cold));

/** As weft_unsupported_anytime(), and the error goes to a handler that is an argument of the call.
 */
int weft_unsupported_for(MPI_Errhandler handle, const char *function) __attribute__((cold));

#endif
