/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors. Every function that can fail returns an MPI error class (MPI_SUCCESS is 0). The first
 * function that knows the cause says it with weft_fail(); all others pass the class on. The MPI
 * call at the top puts its own name in front of the text and gives both to the error handler.
 */
#ifndef WEFT_BASE_FAIL_H
#define WEFT_BASE_FAIL_H

/** Note what went wrong, for this thread, and return `error_class`. */
int weft_fail(int error_class, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/** The text of the last weft_fail() of this thread; "" when there was none. */
const char *weft_fail_text(void);

void weft_fail_clear(void);

#endif
