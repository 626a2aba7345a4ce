/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes: what users cache with communicators, datatypes and windows (MPI 5.0 section 7.7).
 *
 *   number --> keyval (callbacks)  <-- attribute, attribute, ...  in the list of each owner
 *
 * A list is in the order in which attributes were set. A keyval that the user has freed lives on
 * while an attribute uses it, and its number can still be used for that long (section 7.7.2).
 *
 * Callbacks are the user's code and may call MPI: the library's lock is given up around each. What
 * a callback returns, if it is not MPI_SUCCESS, is returned by the function that called it.
 */
#ifndef WEFT_OBJECT_ATTRIBUTE_H
#define WEFT_OBJECT_ATTRIBUTE_H

#include "object/comm.h"
#include "object/object.h"
#include "mpi.h"

#include <stdbool.h>

/** Callbacks of a keyval: the kind of the owner says which member is in use. The predefined
 *  callbacks (null and dup) have the same values for all kinds. */
typedef union weft_attribute_copy_fn {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
    MPI_Win_copy_attr_function *win;
} weft_attribute_copy_fn_t;

typedef union weft_attribute_delete_fn {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
    MPI_Win_delete_attr_function *win;
} weft_attribute_delete_fn_t;

typedef struct weft_keyval_args {
    weft_kind_t kind; /* of the owners: WEFT_KIND_COMM, WEFT_KIND_TYPE or WEFT_KIND_WIN */
    weft_attribute_copy_fn_t copy;
    weft_attribute_delete_fn_t delete;
    void *extra_state;
} weft_keyval_args_t;

/** An object with attributes. */
typedef struct weft_attribute_owner {
    weft_kind_t kind;
    void *handle;             /* passed to callbacks */
    weft_attributes_t **list; /* in the object; NULL there: no attributes */
} weft_attribute_owner_t;

static inline weft_attribute_owner_t weft_comm_attributes(weft_comm_t *comm)
{
    return (weft_attribute_owner_t){WEFT_KIND_COMM, weft_comm_handle(comm), &comm->attributes};
}

/** MPI_ERR_NO_MEM. */
int weft_keyval_create(const weft_keyval_args_t *args, int *number_out);

/** Give up the user's reference; nothing more while attributes keep a keyval that was freed, since
 *  programs free other copies of its number. MPI_ERR_KEYVAL: predefined, unknown, of another kind
 * or gone. */
int weft_keyval_free(weft_kind_t kind, int number);

/** Free all keyvals, also those that the user has not freed. */
void weft_keyvals_close(void);

/** Replaces a value that is there already, after its delete callback. MPI_ERR_KEYVAL,
 * MPI_ERR_NO_MEM or what the callback returns. */
int weft_attribute_set(weft_attribute_owner_t owner, int number, void *value);

/** *is_set_out: whether there is such an attribute; *out is left alone when there is not.
 *  MPI_ERR_KEYVAL. */
int weft_attribute_get(weft_attribute_owner_t owner, int number, void **out, bool *is_set_out);

/** Does nothing when there is no such attribute. MPI_ERR_KEYVAL, or what the callback returns. */
int weft_attribute_delete(weft_attribute_owner_t owner, int number);

/** Copy the attributes whose copy callbacks ask for it, in the order in which they were set; `to`
 * has none. When a callback fails, `to` has none again. */
int weft_attributes_copy(weft_attribute_owner_t from, weft_attribute_owner_t to);

/** Delete all attributes, the last set first (section 11.2.4). The first callback that fails ends
 * the deletion, and its attribute stays. */
int weft_attributes_delete_all(weft_attribute_owner_t owner);

/** The value of a predefined attribute of communicators, which lasts as long as the program;
 *  *out is NULL when it has none. False: `number` is no such attribute. */
bool weft_comm_attribute_predefined(int number, int **out);

#endif
