/* SPDX-License-Identifier: BSD-3-Clause */
/* The external32 form of basic elements. */
#ifndef WEFT_DATATYPE_EXTERNAL_FORM_PRIVATE_H
#define WEFT_DATATYPE_EXTERNAL_FORM_PRIVATE_H

#include "datatype/type.h"

#include <stddef.h>

/** Convert `count` values; native and external memory may have any alignment. */
typedef void (*weft_external_convert_fn_t)(const char *in, char *out, size_t count);

/** A kind of value that basic elements are made of. */
typedef struct weft_external_value {
    size_t native, external; /* bytes */
    weft_external_convert_fn_t pack, unpack;
} weft_external_value_t;

/** A basic element: one value, two of a kind (complex numbers, MPI_2INT), or two kinds. */
typedef struct weft_external_form {
    const weft_external_value_t *first, *second; /* second: NULL: none */
} weft_external_form_t;

/** The form of a predefined type. */
weft_external_form_t weft_external_form_of(const weft_type_t *type);

static inline size_t weft_external_form_bytes(const weft_external_form_t *form)
{
    return form->first->external + (form->second == NULL ? 0 : form->second->external);
}

/** Convert `count` packed elements to the external form, and back. */
void weft_external_form_pack(const weft_external_form_t *form, const char *in, char *out,
                             size_t count);
void weft_external_form_unpack(const weft_external_form_t *form, const char *in, char *out,
                               size_t count);

#endif
