/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/attribute.h"

#include "object/int_handles.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

typedef struct keyval {
    int references; /* the user's, and one of each attribute */
    int number;
    bool is_freed; /* by the user */
    weft_keyval_args_t args;
} keyval_t;

typedef struct attribute {
    keyval_t *keyval;
    void *value;
} attribute_t;

struct weft_attributes {
    int count, room;
    attribute_t *entries; /* [room] */
};

static weft_int_handles_t keyvals;

enum { FIRST_ROOM = 4 };

/* ---- keyvals ---- */

static const char *kind_name(weft_kind_t kind)
{
    if (kind == WEFT_KIND_COMM)
        return "communicators";
    return kind == WEFT_KIND_TYPE ? "datatypes" : "windows";
}

int weft_keyval_create(const weft_keyval_args_t *args, int *number_out)
{
    keyval_t *keyval = weft_alloc(sizeof(*keyval));
    int number = keyval == NULL ? 0 : weft_int_handles_add(&keyvals, keyval);
    if (number == 0) {
        weft_free(keyval);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a keyval");
    }
    *keyval = (keyval_t){.references = 1, .number = number, .args = *args};
    *number_out = number;
    return MPI_SUCCESS;
}

static bool is_predefined(int number)
{
    return number >= MPI_TAG_UB && number <= MPI_WIN_MODEL;
}

static int find_keyval(weft_kind_t kind, int number, keyval_t **out)
{
    if (number == MPI_KEYVAL_INVALID)
        return weft_fail(MPI_ERR_KEYVAL, "keyval is MPI_KEYVAL_INVALID");
    if (is_predefined(number))
        return weft_fail(MPI_ERR_KEYVAL,
                         "keyval is %d, a predefined attribute, which can only be read", number);
    keyval_t *keyval = weft_int_handles_find(&keyvals, number);
    if (keyval == NULL)
        return weft_fail(MPI_ERR_KEYVAL, "keyval is %d, which was not created, or was freed",
                         number);
    if (keyval->args.kind != kind)
        return weft_fail(MPI_ERR_KEYVAL, "keyval is %d, which is for %s and not for %s", number,
                         kind_name(keyval->args.kind), kind_name(kind));
    *out = keyval;
    return MPI_SUCCESS;
}

static void drop_keyval(keyval_t *keyval)
{
    if (--keyval->references > 0)
        return;
    weft_int_handles_remove(&keyvals, keyval->number);
    weft_free(keyval);
}

int weft_keyval_free(weft_kind_t kind, int number)
{
    keyval_t *keyval;
    int err = find_keyval(kind, number, &keyval);
    if (err != MPI_SUCCESS)
        return err;
    if (!keyval->is_freed) {
        keyval->is_freed = true;
        drop_keyval(keyval);
    }
    return MPI_SUCCESS;
}

void weft_keyvals_close(void)
{
    for (int i = 0; i < keyvals.capacity; i++)
        weft_free(keyvals.objects[i]);
    weft_int_handles_close(&keyvals);
}

/* ---- callbacks ---- */

static int call_delete(weft_attribute_owner_t owner, const keyval_t *keyval, void *value)
{
    const weft_keyval_args_t *args = &keyval->args;
    int number = keyval->number, err;
    if (args->delete.comm == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    weft_unlock();
    if (owner.kind == WEFT_KIND_COMM)
        err = args->delete.comm((MPI_Comm)owner.handle, number, value, args->extra_state);
    else if (owner.kind == WEFT_KIND_TYPE)
        err = args->delete.type((MPI_Datatype)owner.handle, number, value, args->extra_state);
    else
        err = args->delete.win((MPI_Win)owner.handle, number, value, args->extra_state);
    weft_lock();
    if (err != MPI_SUCCESS)
        weft_fail(err, "the delete callback of keyval %d returned %d", number, err);
    return err;
}

/* *is_wanted_out: whether the copy is to have the attribute. */
static int call_copy(weft_attribute_owner_t owner, const attribute_t *attribute, void **value_out,
                     bool *is_wanted_out)
{
    const weft_keyval_args_t *args = &attribute->keyval->args;
    int number = attribute->keyval->number, is_wanted = 0, err;
    void *value = attribute->value;
    *value_out = value;
    *is_wanted_out = args->copy.comm == MPI_COMM_DUP_FN;
    if (args->copy.comm == MPI_COMM_NULL_COPY_FN || args->copy.comm == MPI_COMM_DUP_FN)
        return MPI_SUCCESS;
    weft_unlock();
    if (owner.kind == WEFT_KIND_COMM)
        err = args->copy.comm((MPI_Comm)owner.handle, number, args->extra_state, value, value_out,
                              &is_wanted);
    else if (owner.kind == WEFT_KIND_TYPE)
        err = args->copy.type((MPI_Datatype)owner.handle, number, args->extra_state, value,
                              value_out, &is_wanted);
    else
        err = args->copy.win((MPI_Win)owner.handle, number, args->extra_state, value, value_out,
                             &is_wanted);
    weft_lock();
    *is_wanted_out = is_wanted != 0;
    if (err != MPI_SUCCESS)
        weft_fail(err, "the copy callback of keyval %d returned %d", number, err);
    return err;
}

/* ---- lists ---- */

/* Callbacks may change a list, so no function keeps a pointer into one across a callback. */
static attribute_t *find_attribute(weft_attribute_owner_t owner, const keyval_t *keyval)
{
    weft_attributes_t *list = *owner.list;
    for (int i = 0; list != NULL && i < list->count; i++) {
        if (list->entries[i].keyval == keyval)
            return &list->entries[i];
    }
    return NULL;
}

static bool reserve_attribute(weft_attributes_t *list)
{
    if (list->count < list->room)
        return true;
    int room = list->room == 0 ? FIRST_ROOM : 2 * list->room;
    attribute_t *entries = weft_realloc(list->entries, (size_t)room * sizeof(*entries));
    if (entries == NULL)
        return false;
    list->entries = entries;
    list->room = room;
    return true;
}

static int append_attribute(weft_attribute_owner_t owner, keyval_t *keyval, void *value)
{
    if (*owner.list == NULL)
        *owner.list = weft_alloc_zeroed(1, sizeof(**owner.list));
    weft_attributes_t *list = *owner.list;
    if (list == NULL || !reserve_attribute(list))
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an attribute");
    list->entries[list->count++] = (attribute_t){keyval, value};
    keyval->references++;
    return MPI_SUCCESS;
}

static void forget_attribute(weft_attribute_owner_t owner, keyval_t *keyval)
{
    attribute_t *attribute = find_attribute(owner, keyval);
    if (attribute == NULL)
        return;
    weft_attributes_t *list = *owner.list;
    attribute_t *end = list->entries + list->count--;
    memmove(attribute, attribute + 1, (size_t)(end - attribute - 1) * sizeof(*attribute));
    if (list->count == 0) {
        weft_free(list->entries);
        weft_free(list);
        *owner.list = NULL;
    }
    drop_keyval(keyval);
}

static int delete_with_callback(weft_attribute_owner_t owner, const attribute_t *attribute)
{
    keyval_t *keyval = attribute->keyval;
    keyval->references++;
    int err = call_delete(owner, keyval, attribute->value);
    if (err == MPI_SUCCESS)
        forget_attribute(owner, keyval);
    drop_keyval(keyval);
    return err;
}

int weft_attribute_set(weft_attribute_owner_t owner, int number, void *value)
{
    keyval_t *keyval;
    int err = find_keyval(owner.kind, number, &keyval);
    if (err != MPI_SUCCESS)
        return err;
    keyval->references++;
    const attribute_t *old = find_attribute(owner, keyval);
    if (old != NULL)
        err = delete_with_callback(owner, old);
    if (err == MPI_SUCCESS)
        err = append_attribute(owner, keyval, value);
    drop_keyval(keyval);
    return err;
}

int weft_attribute_get(weft_attribute_owner_t owner, int number, void **out, bool *is_set_out)
{
    keyval_t *keyval;
    int err = find_keyval(owner.kind, number, &keyval);
    if (err != MPI_SUCCESS)
        return err;
    const attribute_t *attribute = find_attribute(owner, keyval);
    *is_set_out = attribute != NULL;
    if (attribute != NULL)
        *out = attribute->value;
    return MPI_SUCCESS;
}

int weft_attribute_delete(weft_attribute_owner_t owner, int number)
{
    keyval_t *keyval;
    int err = find_keyval(owner.kind, number, &keyval);
    if (err != MPI_SUCCESS)
        return err;
    const attribute_t *attribute = find_attribute(owner, keyval);
    return attribute == NULL ? MPI_SUCCESS : delete_with_callback(owner, attribute);
}

static int copy_one(weft_attribute_owner_t from, weft_attribute_owner_t to, attribute_t attribute)
{
    void *value;
    bool is_wanted;
    keyval_t *keyval = attribute.keyval;
    keyval->references++;
    int err = call_copy(from, &attribute, &value, &is_wanted);
    if (err == MPI_SUCCESS && is_wanted)
        err = append_attribute(to, keyval, value);
    drop_keyval(keyval);
    return err;
}

/* Clean up after a copy that failed: the new object will not exist, so its attributes are removed
 * even if their delete callbacks fail. */
static void undo_copy(weft_attribute_owner_t to)
{
    while (weft_attributes_delete_all(to) != MPI_SUCCESS)
        forget_attribute(to, (*to.list)->entries[(*to.list)->count - 1].keyval);
}

int weft_attributes_copy(weft_attribute_owner_t from, weft_attribute_owner_t to)
{
    for (int i = 0; *from.list != NULL && i < (*from.list)->count; i++) {
        int err = copy_one(from, to, (*from.list)->entries[i]);
        if (err != MPI_SUCCESS) {
            undo_copy(to);
            return err;
        }
    }
    return MPI_SUCCESS;
}

int weft_attributes_delete_all(weft_attribute_owner_t owner)
{
    int err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && *owner.list != NULL)
        err = delete_with_callback(owner, &(*owner.list)->entries[(*owner.list)->count - 1]);
    return err;
}
