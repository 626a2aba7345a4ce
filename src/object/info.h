/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects (MPI 5.0 chapter 10): ordered lists of (key, value) strings. */
#ifndef WEFT_OBJECT_INFO_H
#define WEFT_OBJECT_INFO_H

#include "object/object.h"
#include "mpi.h"

#include <stdbool.h>

typedef struct weft_info_entry {
    char *key, *value;
} weft_info_entry_t;

typedef struct weft_info {
    weft_object_t object;
    int count, room;
    weft_info_entry_t *entries; /* [room], `count` of them in use, in the order of insertion */
} weft_info_t;

/** MPI_INFO_ENV: filled when first asked for. */
extern weft_info_t weft_info_env;

/** NULL: not a live info (MPI_INFO_NULL included). */
weft_info_t *weft_info_of(MPI_Info handle);
MPI_Info weft_info_handle(weft_info_t *info);

/** An empty info with one reference; MPI_ERR_NO_MEM. */
int weft_info_create(weft_info_t **out);
/** A copy of `info` (NULL: an empty one). */
int weft_info_dup(const weft_info_t *info, weft_info_t **out);
/** Drop a reference; NULL is allowed. */
void weft_info_release(weft_info_t *info);

/** Give memory back, except MPI_INFO_ENV's, unless there are infos that the program has not freed
 * (false): it may free them after MPI_Finalize. */
bool weft_infos_close(void);

/** The value of `key`, owned by the info; NULL when there is none. */
const char *weft_info_get(const weft_info_t *info, const char *key);
/** Set or replace; both strings are copied. MPI_ERR_NO_MEM. */
int weft_info_set(weft_info_t *info, const char *key, const char *value);
/** MPI_ERR_INFO_NOKEY when there is no such key. */
int weft_info_delete(weft_info_t *info, const char *key);

#endif
