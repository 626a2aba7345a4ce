/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every object behind an MPI handle begins with, and how a handle becomes a pointer.
 *
 * In the standard ABI (MPI 5.0, chapter 20) a handle is a pointer whose values below 0x1000 are the
 * predefined ones. Weft looks a predefined handle up in a table of its kind; any other handle is
 * the address of the object. Objects come from pools that give no memory back while MPI runs, so
 * the kind of a freed object can still be read, and says that it was freed.
 */
#ifndef WEFT_OBJECT_OBJECT_H
#define WEFT_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum weft_kind {
    WEFT_FREED = 0,
    WEFT_KIND_COMM = 0x57465401, /* unlikely as the first word of anything else */
    WEFT_KIND_GROUP,
    WEFT_KIND_REQUEST,
    WEFT_KIND_MESSAGE,
    WEFT_KIND_TYPE,
    WEFT_KIND_OP,
    WEFT_KIND_INFO,
    WEFT_KIND_ERRHANDLER,
    WEFT_KIND_WIN,
    WEFT_KIND_STREAM,
    WEFT_KIND_SESSION,
} weft_kind_t;

typedef struct weft_object {
    weft_kind_t kind; /* WEFT_FREED: not live */
    int references;   /* at 0 the object goes back to its pool */
} weft_object_t;

/* Handles up to 0xfff are the standard's, those above it are mpix.h's. */
enum { WEFT_PREDEFINED_HANDLES = 0x2000 };

static inline bool weft_is_predefined(const void *handle)
{
    return (uintptr_t)handle < WEFT_PREDEFINED_HANDLES;
}

static inline void weft_object_init(weft_object_t *object, weft_kind_t kind)
{
    object->kind = kind;
    object->references = 1;
}

/* References are counted under the library's lock, so a plain add is enough, at a tenth of the cost
 * of an atomic one. */
static inline void weft_object_retain(weft_object_t *object)
{
    object->references++;
}

/** Drop a reference; true when it was the last one and the caller has to destroy the object. */
static inline bool weft_object_drop(weft_object_t *object)
{
    return --object->references == 0;
}

#endif
