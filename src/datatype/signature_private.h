/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The type signature of a buffer: its basic elements in order, those of one type together
 * (MPI 5.0, section 5.1). It is walked without recursion, since types may be nested as deep as
 * memory allows.
 *
 *     weft_signature_open(&signature, type, count);
 *     while (weft_signature_next(&signature, &same))
 *         ...
 *     err = weft_signature_close(&signature);
 */
#ifndef WEFT_DATATYPE_SIGNATURE_PRIVATE_H
#define WEFT_DATATYPE_SIGNATURE_PRIVATE_H

#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>

/** `count` > 0 elements of one predefined type. */
typedef struct weft_same_elements {
    const weft_type_t *type;
    size_t count;
} weft_same_elements_t;

/** A struct on the way down: what is left of its copies. */
typedef struct weft_signature_level {
    const weft_type_t *type;
    size_t copies; /* with this one */
    size_t member; /* the next one of this copy */
} weft_signature_level_t;

enum { WEFT_SIGNATURE_LEVELS = 16 };

typedef struct weft_signature {
    weft_same_elements_t whole; /* count 0: begun, or empty */
    weft_signature_level_t *level;
    size_t depth, room;
    int error;
    weft_signature_level_t first[WEFT_SIGNATURE_LEVELS]; /* enough for most types */
} weft_signature_t;

void weft_signature_open(weft_signature_t *signature, const weft_type_t *type, size_t count);

/** False at the end, or when there is no memory. */
bool weft_signature_next(weft_signature_t *signature, weft_same_elements_t *out);

/** MPI_ERR_NO_MEM when it ended early. */
int weft_signature_close(weft_signature_t *signature);

#endif
