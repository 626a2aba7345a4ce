/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for the values of a variable, or for the elements of an event (MPI 5.0 section 15.3.5). */
#ifndef WEFT_TOOL_ENUMERATION_H
#define WEFT_TOOL_ENUMERATION_H

#include "mpi.h"

enum { WEFT_ENUM_ITEMS = 16 };

typedef struct weft_enum {
    const char *name;
    int count;
    const char *items[WEFT_ENUM_ITEMS]; /* the value of an item is its index */
} weft_enum_t;

/** An enumeration that tools may have: with the tool's lock, while the interface opens. */
int weft_enum_show(const weft_enum_t *names);
/** NULL: no enumeration. */
const weft_enum_t *weft_enum_of(MPI_T_enum handle);
/** `names` NULL: MPI_T_ENUM_NULL. */
MPI_T_enum weft_enum_handle(const weft_enum_t *names);

void weft_enums_close(void);

#endif
