/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles as ints, for Fortran (MPI 5.0, chapter 20: MPI_Type_toint and its like). Predefined
 * handles are their own value; a user's object gets the first free number from 0x2000 on when the
 * number is first asked for. There is one table for each kind of handle, under the library's lock.
 */
#ifndef WEFT_OBJECT_INT_HANDLES_H
#define WEFT_OBJECT_INT_HANDLES_H

typedef struct weft_int_handles {
    void **objects; /* by number - WEFT_PREDEFINED_HANDLES; NULL: free */
    int capacity;
    int first_free; /* no slot before it is free */
} weft_int_handles_t;

extern weft_int_handles_t weft_type_int_handles, weft_op_int_handles;

/** The number of `object`, which has none yet; 0 when there is no memory. */
int weft_int_handles_add(weft_int_handles_t *table, void *object);

/** The object of a number; NULL when there is none. */
void *weft_int_handles_find(const weft_int_handles_t *table, int number);

void weft_int_handles_remove(weft_int_handles_t *table, int number);

void weft_int_handles_close(weft_int_handles_t *table);

#endif
