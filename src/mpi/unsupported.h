/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of MPI functions that are not implemented yet (unsupported.list). */
#ifndef WEFT_MPI_UNSUPPORTED_H
#define WEFT_MPI_UNSUPPORTED_H

/**
 * Raise the error that `function` is not implemented yet.
 *
 * function   its name with MPI_ in front; lives as long as the program
 * returns    MPI_ERR_UNSUPPORTED_OPERATION
 */
int weft_unsupported(const char *function) __attribute__((cold));

#endif
