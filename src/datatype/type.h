/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes (MPI 5.0, chapter 5): the object, the predefined ones, the constructors.
 *
 * A constructor keeps its arguments (the envelope) and works out size and bounds; commit lays out
 * the canonical form (layout.h) that pack.h uses. An envelope keeps the types it is made of alive,
 * so a layout may point into theirs.
 */
#ifndef WEFT_DATATYPE_TYPE_H
#define WEFT_DATATYPE_TYPE_H

#include "datatype/layout.h"
#include "object/counts.h"
#include "object/object.h"
#include "base/own_symbol.h"
#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>

struct weft_attributes;
struct weft_envelope;

typedef struct weft_type {
    weft_object_t object;
    size_t size;                   /* bytes of data in one element */
    MPI_Aint lb, extent;           /* extent = ub - lb */
    MPI_Aint true_lb, true_extent; /* of the data alone */
    bool is_dense;                 /* the data of n elements is one run of n * size bytes at the
                                      buffer, in order; false before commit, and where the type
                                      cannot receive */
    bool is_committed;
    bool can_receive; /* committed, and no two bytes of its data lie at one place */
    bool is_predefined;
    bool has_markers;         /* lb and ub were set explicitly, and hold in types made of it */
    unsigned char machine;    /* weft_machine_t (op.h): what the kernels see; 0: none */
    unsigned char group;      /* weft_op_group_t (op.h): the row of the table of legal operations */
    unsigned short alignment; /* of the strictest member, bytes */
    MPI_Datatype handle;
    weft_layout_t layout; /* valid once has_layout */
    bool has_layout;
    int index;            /* in the table of MPI_Type_toint; 0: none yet */
    size_t elements;      /* basic elements in one element */
    size_t external_size; /* bytes of one element in external32; of derived types alone: see
                             external32.h */
    struct weft_envelope *envelope; /* NULL for predefined types */
    struct weft_attributes *attributes;
    struct weft_type *waiting; /* the next in a list, while a nest of types is looked through */
    size_t laid_out;           /* members known to have a layout, meanwhile */
    void *device_shape;        /* the device back end's form of the layout; NULL: not yet made */
    char name[MPI_MAX_OBJECT_NAME];
} weft_type_t;

enum { WEFT_TYPE_HANDLES = 1024 };

/** The predefined types by the value of their handle; NULL where there is none. */
extern WEFT_OWN_SYMBOL weft_type_t *const weft_type_table[WEFT_TYPE_HANDLES];

/* The handles of mpix.h. */
enum { WEFT_EXTENSIONS_BEGIN = 0x1240, WEFT_EXTENSION_HANDLES = 64 };

/** The types of mpix.h by the value of their handle less WEFT_EXTENSIONS_BEGIN; NULL as above. */
extern WEFT_OWN_SYMBOL weft_type_t *const weft_extension_table[WEFT_EXTENSION_HANDLES];

/** The type of a handle; NULL: MPI_DATATYPE_NULL, freed or no datatype. */
static inline weft_type_t *weft_type_of(MPI_Datatype handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value < WEFT_TYPE_HANDLES)
        return weft_type_table[value];
    if (value - WEFT_EXTENSIONS_BEGIN < WEFT_EXTENSION_HANDLES)
        return weft_extension_table[value - WEFT_EXTENSIONS_BEGIN];
    if (value < WEFT_PREDEFINED_HANDLES || value % 64 != 0)
        return NULL;
    weft_type_t *type = (weft_type_t *)(void *)handle;
    return type->object.kind == WEFT_KIND_TYPE ? type : NULL;
}

static inline MPI_Datatype weft_type_handle(const weft_type_t *type)
{
    return type->handle;
}

/** Set by a device's back end; releases type->device_shape. */
extern void (*weft_type_release_shape)(void *shape);

/** Free the type and drop its references; for weft_type_release() only. */
void weft_type_destroy(weft_type_t *type);

/** Keep a type alive, for example while a request uses it. Does nothing for predefined types. */
static inline void weft_type_retain(weft_type_t *type)
{
    if (!type->is_predefined)
        weft_object_retain(&type->object);
}

static inline void weft_type_release(weft_type_t *type)
{
    if (!type->is_predefined && weft_object_drop(&type->object))
        weft_type_destroy(type);
}

/*
 * Constructors. `old` and the types in `types` are retained; *out is a new, uncommitted type with
 * one reference. Errors: MPI_ERR_COUNT (a negative count or block length, a size or bound beyond 64
 * bits), MPI_ERR_ARG, MPI_ERR_TYPE (a bad handle in `types`), MPI_ERR_NO_MEM. The arrays have
 * `count` entries; displacements of vector, indexed and indexed_block are in extents of `old`, all
 * others in bytes. The envelope says that the int form was called until weft_type_set_wide().
 */
int weft_type_contiguous(MPI_Count count, weft_type_t *old, weft_type_t **out);
int weft_type_vector(MPI_Count count, MPI_Count block_count, MPI_Count stride, weft_type_t *old,
                     weft_type_t **out);
int weft_type_hvector(MPI_Count count, MPI_Count block_count, MPI_Count stride, weft_type_t *old,
                      weft_type_t **out);
int weft_type_indexed(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                      weft_type_t *old, weft_type_t **out);
int weft_type_hindexed(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                       weft_type_t *old, weft_type_t **out);
int weft_type_indexed_block(MPI_Count count, MPI_Count block_count, weft_counts_t displacements,
                            weft_type_t *old, weft_type_t **out);
int weft_type_hindexed_block(MPI_Count count, MPI_Count block_count, weft_counts_t displacements,
                             weft_type_t *old, weft_type_t **out);
int weft_type_struct(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                     const MPI_Datatype types[], weft_type_t **out);

/** Subarrays: arrays of `dimensions` entries; order is MPI_ORDER_C or MPI_ORDER_FORTRAN. */
typedef struct weft_subarray {
    int dimensions, order;
    weft_counts_t sizes, subsizes, starts;
} weft_subarray_t;

int weft_type_subarray(const weft_subarray_t *subarray, weft_type_t *old, weft_type_t **out);

/** Distributed arrays: arrays of `dimensions` entries; `order` as above. `arguments` belong to the
 * distributions. */
typedef struct weft_darray {
    int size, rank, dimensions, order;
    weft_counts_t global_sizes;
    const int *distributions, *arguments, *process_counts;
} weft_darray_t;

int weft_type_darray(const weft_darray_t *darray, weft_type_t *old, weft_type_t **out);
int weft_type_resized(weft_type_t *old, MPI_Count lb, MPI_Count extent, weft_type_t **out);
/** The copy is committed if `old` is. The caller copies the attributes. */
int weft_type_dup(weft_type_t *old, weft_type_t **out);

/** Fortran's types: the combiner (MPI_COMBINER_F90_...), the decimal digits, of integers
 * MPI_UNDEFINED, and the decimal range. */
typedef struct weft_f90_arguments {
    int combiner, precision, range;
} weft_f90_arguments_t;

/** A predefined type: the caller gets no reference. MPI_ERR_ARG: there is no such type. */
int weft_type_f90(const weft_f90_arguments_t *arguments, weft_type_t **out);

/** Note that the _c form of the constructor was called: its counts are large counts. */
void weft_type_set_wide(weft_type_t *type);

/** Lay out the canonical form; does nothing for a committed type. MPI_ERR_NO_MEM. */
int weft_type_commit(weft_type_t *type);

/** Basic elements in the first `bytes` bytes of a stream of elements of `type` (MPI_Get_elements);
 *  MPI_UNDEFINED when the bytes end within a basic element. */
MPI_Count weft_type_elements(const weft_type_t *type, size_t bytes);

/** The other way round: the bytes of the first `elements` >= 0 basic elements of such a stream. The
 *  bytes of all instances of the type that they begin must fit into a size_t. */
size_t weft_type_element_bytes(const weft_type_t *type, MPI_Count elements);

/** Where the data of `count` elements lies, when it is one run in the order of the type map:
 * `offset` bytes from the buffer. False: it is not one run, and nothing is set. The type is
 * committed. */
bool weft_type_span(const weft_type_t *type, size_t count, ptrdiff_t *offset_out,
                    size_t *bytes_out);

/** The memory that `count` > 0 elements need where a user's function may work on them: bytes
 * [low, high) from the buffer. It covers the bounds as well as the data, since such a function may
 * copy whole structs of which the type names only some members. */
void weft_type_room(const weft_type_t *type, size_t count, ptrdiff_t *low_out, ptrdiff_t *high_out);

/** Free all types, at the end of MPI. */
void weft_types_close(void);

#endif
