/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a derived type was made from (MPI 5.0, section 5.1.13): the arguments of its constructor, in
 * the order of the call, as sections of one kind:
 *
 *   hindexed(count, block_counts[count], displacements[count], old):
 *       sections  C 1 | C count | A count          values  count | blocks ... | displacements ...
 *
 * Whether a value is reported as an int, an address or a large count follows from the kind of its
 * section and the form that was called.
 */
#ifndef WEFT_DATATYPE_ENVELOPE_H
#define WEFT_DATATYPE_ENVELOPE_H

#include "datatype/type.h"
#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum weft_section_kind {
    WEFT_SECTION_INT,     /* an int in both forms */
    WEFT_SECTION_COUNT,   /* an int, or a large count in the _c form */
    WEFT_SECTION_ADDRESS, /* an MPI_Aint, or a large count in the _c form */
} weft_section_kind_t;

typedef struct weft_envelope_section {
    weft_section_kind_t kind;
    size_t length;
} weft_envelope_section_t;

enum { WEFT_SECTIONS = 8 };

typedef struct weft_envelope {
    int combiner;
    bool is_wide; /* the _c form was called */
    int section_count;
    weft_envelope_section_t section[WEFT_SECTIONS];
    size_t value_count, type_count;
    MPI_Count *values;
    weft_type_t **types; /* retained */
    /* A type with the layout and the elements of this one, for arguments of a form that layout.c
     * does not know (darray, f90); retained; NULL: none. The function that sets it copies size and
     * bounds. */
    weft_type_t *expansion;
} weft_envelope_t;

/** The type that lends its layout to one that adds none of its own (dup, resized, darray, ...). */
static inline weft_type_t *weft_envelope_base(const weft_envelope_t *envelope)
{
    return envelope->expansion != NULL ? envelope->expansion : envelope->types[0];
}

/** How many values of each class MPI_Type_get_contents_c gives. */
typedef struct weft_envelope_sizes {
    MPI_Count integers, addresses, large_counts, types;
    int combiner;
} weft_envelope_sizes_t;

weft_envelope_sizes_t weft_envelope_sizes(const weft_type_t *type);

/** Where the contents go; each array is as long as weft_envelope_sizes() says. */
typedef struct weft_contents {
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *large_counts;
    MPI_Datatype *types;
} weft_contents_t;

/** Write the contents of a derived type; the derived types among them are retained for the caller.
 */
void weft_envelope_contents(const weft_type_t *type, const weft_contents_t *out);

/** The arguments to weft_envelope_create(). */
typedef struct weft_envelope_shape {
    int combiner, section_count;
    weft_envelope_section_t section[WEFT_SECTIONS];
    size_t type_count;
} weft_envelope_shape_t;

/** An envelope whose values and types are still to be set; NULL when there is no memory. */
weft_envelope_t *weft_envelope_create(const weft_envelope_shape_t *shape);

/** Release the types and free the envelope. */
void weft_envelope_destroy(weft_envelope_t *envelope);

#endif
