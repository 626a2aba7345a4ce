/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole sentences behind the error codes that a thread has got last, for MPI_Error_string: the
 * codes are classes, which say little. Each thread keeps those of the last call that has failed, in
 * memory of a fixed size. Only failures come here, so that calls that succeed pay nothing.
 */
#ifndef WEFT_OBJECT_RETURNED_ERROR_H
#define WEFT_OBJECT_RETURNED_ERROR_H

#include "mpi.h"

#include <stdbool.h>

enum { WEFT_RETURNED_ERRORS_MOST = 4 };

typedef struct weft_returned_errors {
    struct {
        int error; /* MPI_SUCCESS: this entry and those behind it are unused */
        int more;  /* further statuses of the call that have the same error */
        char text[MPI_MAX_ERROR_STRING];
    } kept[WEFT_RETURNED_ERRORS_MOST]; /* the first is the call's own, the others its statuses' */
} weft_returned_errors_t;

/** `call` has failed with `error`; weft_fail() has got the text. What was kept is forgotten, but
 * for MPI_ERR_IN_STATUS not what the statuses of this call have got. */
void weft_returned_error_note(int error, const char *call) __attribute__((cold));

/** A status of `call` has got `error`; weft_fail() has got the text. Of further errors than there
 * is room for none is kept.
 * is_first  no other status of this call has failed so far */
void weft_returned_error_note_status(int error, const char *call, bool is_first)
    __attribute__((cold));

/** Give the sentence of an error code that this thread has got last, cut off where it is too long.
 *
 * out      [MPI_MAX_ERROR_STRING]
 * returns  its length; 0: there is none, and `out` is not changed */
int weft_returned_error_text(int error, char *out);

/** What this thread keeps: what a program's error handler calls must not change it. */
weft_returned_errors_t *weft_returned_errors(void);

#endif
