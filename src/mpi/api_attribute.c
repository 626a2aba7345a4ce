/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of communicators and datatypes (MPI 5.0 section 7.7; the old names: section 16.1). */
#include "mpi/api.h"

#include "mpi/attribute_owner.h"
#include "mpi/check.h"
#include "object/attribute.h"
#include "base/fail.h"

/* ---- keyvals ---- */

static int create_keyval(const char *name, const weft_keyval_args_t *args, int *keyval)
{
    weft_call_t call = weft_call_begin(name);
    int err = weft_check_output(keyval, "keyval");
    if (err == MPI_SUCCESS)
        err = weft_keyval_create(args, keyval);
    return weft_call_end(&call, err);
}

static int free_keyval(const char *name, weft_kind_t kind, int *keyval)
{
    weft_call_t call = weft_call_begin(name);
    int err = weft_check_output(keyval, "keyval");
    if (err == MPI_SUCCESS)
        err = weft_keyval_free(kind, *keyval);
    if (err == MPI_SUCCESS)
        *keyval = MPI_KEYVAL_INVALID;
    return weft_call_end(&call, err);
}

/** Makes a key under which the caller can keep a pointer of its own, an attribute, with any
 *  communicator (section 7.7.2). The functions given may call MPI; if one returns anything but
 *  MPI_SUCCESS, the function that called it fails and returns the same.
 *  @param[in] comm_copy_attr_fn  called for each attribute of a communicator that is copied, in the
 *      order in which they were set; MPI_COMM_NULL_COPY_FN: the copy does not get the attribute;
 *      MPI_COMM_DUP_FN: it gets the same pointer
 *  @param[in] comm_delete_attr_fn  called when an attribute is deleted, replaced, or its
 *      communicator freed; MPI_COMM_NULL_DELETE_FN: nothing is to be done then
 *  @param[out] comm_keyval  the key, to be freed with MPI_Comm_free_keyval */
WEFT_API(MPI_Comm_create_keyval);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                            MPI_Comm_delete_attr_function *delete, int *keyval, void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_COMM, {.comm = copy}, {.comm = delete}, extra_state};
    return create_keyval("MPI_Comm_create_keyval", &args, keyval);
}

/** Makes a key under which the caller can keep a pointer of its own, an attribute, with any
 *  datatype (section 7.7.4). The functions given may call MPI; if one returns anything but
 *  MPI_SUCCESS, the function that called it fails and returns the same.
 *  @param[in] type_copy_attr_fn  called by MPI_Type_dup for each attribute, in the order in which
 *      they were set; MPI_TYPE_NULL_COPY_FN: the copy does not get the attribute; MPI_TYPE_DUP_FN:
 *      it gets the same pointer
 *  @param[in] type_delete_attr_fn  called when an attribute is deleted, replaced, or its datatype
 *      freed; MPI_TYPE_NULL_DELETE_FN: nothing is to be done then
 *  @param[out] type_keyval  the key, to be freed with MPI_Type_free_keyval */
WEFT_API(MPI_Type_create_keyval);
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy,
                            MPI_Type_delete_attr_function *delete, int *keyval, void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_TYPE, {.type = copy}, {.type = delete}, extra_state};
    return create_keyval("MPI_Type_create_keyval", &args, keyval);
}

/** Does what MPI_Comm_create_keyval does, under the name of MPI-1, which is deprecated
 *  (section 16.1).
 *  @param[in] copy_fn  as for MPI_Comm_create_keyval; also MPI_NULL_COPY_FN or MPI_DUP_FN
 *  @param[in] delete_fn  as for MPI_Comm_create_keyval; also MPI_NULL_DELETE_FN
 *  @param[out] keyval  the key, to be freed with MPI_Keyval_free or MPI_Comm_free_keyval */
WEFT_API(MPI_Keyval_create);
int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *delete, int *keyval,
                       void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_COMM, {.comm = copy}, {.comm = delete}, extra_state};
    return create_keyval("MPI_Keyval_create", &args, keyval);
}

/** Gives up a key for attributes of communicators, and sets it to MPI_KEYVAL_INVALID
 *  (section 7.7.2). Attributes of that key stay, and its functions are called, until the last of
 *  them is deleted; other copies of the key can be used until then.
 *  @param[in,out] comm_keyval  the key
 *  @error MPI_ERR_KEYVAL  comm_keyval is no key, a predefined one, or not one for communicators */
WEFT_API(MPI_Comm_free_keyval);
int PMPI_Comm_free_keyval(int *keyval)
{
    return free_keyval("MPI_Comm_free_keyval", WEFT_KIND_COMM, keyval);
}

/** Gives up a key for attributes of datatypes, and sets it to MPI_KEYVAL_INVALID (section 7.7.4).
 *  Attributes of that key stay, and its functions are called, until the last of them is deleted;
 *  other copies of the key can be used until then.
 *  @param[in,out] type_keyval  the key
 *  @error MPI_ERR_KEYVAL  type_keyval is no key, a predefined one, or not one for datatypes */
WEFT_API(MPI_Type_free_keyval);
int PMPI_Type_free_keyval(int *keyval)
{
    return free_keyval("MPI_Type_free_keyval", WEFT_KIND_TYPE, keyval);
}

/** Does what MPI_Comm_free_keyval does, under the name of MPI-1, which is deprecated
 *  (section 16.1).
 *  @param[in,out] keyval  the key
 *  @error MPI_ERR_KEYVAL  keyval is no key, a predefined one, or not one for communicators */
WEFT_API(MPI_Keyval_free);
int PMPI_Keyval_free(int *keyval)
{
    return free_keyval("MPI_Keyval_free", WEFT_KIND_COMM, keyval);
}

/* ---- communicators ---- */

static int set_on_comm(const char *name, MPI_Comm handle, int keyval, void *value)
{
    weft_call_t call = weft_call_begin(name);
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_attribute_set(weft_comm_attributes(comm), keyval, value);
    return weft_call_end(&call, err);
}

static int delete_of_comm(const char *name, MPI_Comm handle, int keyval)
{
    weft_call_t call = weft_call_begin(name);
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_attribute_delete(weft_comm_attributes(comm), keyval);
    return weft_call_end(&call, err);
}

static int check_outputs(const void *value_out, const int *flag)
{
    int err = weft_check_output(value_out, "attribute_val");
    return err == MPI_SUCCESS ? weft_check_output(flag, "flag") : err;
}

static int get(weft_attribute_owner_t owner, int keyval, void **value_out, int *flag)
{
    int *predefined;
    bool is_set;
    if (owner.kind == WEFT_KIND_COMM && weft_comm_attribute_predefined(keyval, &predefined)) {
        *flag = predefined != NULL;
        if (*flag)
            *value_out = predefined;
        return MPI_SUCCESS;
    }
    int err = weft_attribute_get(owner, keyval, value_out, &is_set);
    if (err == MPI_SUCCESS)
        *flag = is_set;
    return err;
}

static int get_of_comm(const char *name, MPI_Comm handle, int keyval, void *value_out, int *flag)
{
    weft_call_t call = weft_call_begin(name);
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = check_outputs(value_out, flag);
    if (err == MPI_SUCCESS)
        err = get(weft_comm_attributes(comm), keyval, value_out, flag);
    return weft_call_end(&call, err);
}

/** Keeps a pointer with a communicator, at this rank (section 7.7.2). If there is one of that key
 *  already, its delete callback is called first; if that fails, the old one stays.
 *  @param[in] attribute_val  the pointer, which Weft does not look at
 *  @error MPI_ERR_KEYVAL  a predefined attribute is named
 *  @see MPI_Comm_create_keyval */
WEFT_API(MPI_Comm_set_attr);
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    return set_on_comm("MPI_Comm_set_attr", comm, keyval, value);
}

/** The pointer that is kept with a communicator under a key (section 7.7.2). The predefined keys
 *  give a pointer to an int, which the caller must not change: MPI_TAG_UB (INT_MAX), MPI_IO,
 *  MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM and MPI_UNIVERSE_SIZE (these two only if the launcher
 *  tells them), and MPI_LASTUSEDCODE.
 *  @param[out] attribute_val  the address of a variable that gets the pointer; left alone if there
 *      is none
 *  @note The predefined attributes are there on all communicators, not on MPI_COMM_WORLD alone. */
WEFT_API(MPI_Comm_get_attr);
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value_out, int *flag)
{
    return get_of_comm("MPI_Comm_get_attr", comm, keyval, value_out, flag);
}

/** Deletes an attribute of a communicator, at this rank (section 7.7.2). The key's delete callback
 *  is called first; if it returns anything but MPI_SUCCESS, the attribute stays. Where there is no
 *  attribute of that key, nothing happens: the callback is the only failure that the section names.
 *  @error MPI_ERR_KEYVAL  a predefined attribute is named */
WEFT_API(MPI_Comm_delete_attr);
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    return delete_of_comm("MPI_Comm_delete_attr", comm, keyval);
}

/** Does what MPI_Comm_set_attr does, under the name of MPI-1, which is deprecated (section 16.1).
 *  @param[in] attribute_val  the pointer, which Weft does not look at
 *  @error MPI_ERR_KEYVAL  a predefined attribute is named */
WEFT_API(MPI_Attr_put);
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return set_on_comm("MPI_Attr_put", comm, keyval, value);
}

/** Does what MPI_Comm_get_attr does, under the name of MPI-1, which is deprecated (section 16.1).
 *  @param[out] attribute_val  the address of a variable that gets the pointer; left alone if
 *      there is none */
WEFT_API(MPI_Attr_get);
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value_out, int *flag)
{
    return get_of_comm("MPI_Attr_get", comm, keyval, value_out, flag);
}

/** Does what MPI_Comm_delete_attr does, under the name of MPI-1, which is deprecated
 *  (section 16.1).
 *  @error MPI_ERR_KEYVAL  a predefined attribute is named
 *  @error MPI_ERR_ARG  comm has no attribute of that key */
WEFT_API(MPI_Attr_delete);
int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return delete_of_comm("MPI_Attr_delete", comm, keyval);
}

/* ---- datatypes ---- */

/** Keeps a pointer with a datatype (section 7.7.4). If there is one of that key already, its delete
 *  callback is called first; if that fails, the old one stays.
 *  @param[in] datatype  a datatype, predefined ones included
 *  @param[in] attribute_val  the pointer, which Weft does not look at
 *  @see MPI_Type_create_keyval */
WEFT_API(MPI_Type_set_attr);
int PMPI_Type_set_attr(MPI_Datatype handle, int keyval, void *value)
{
    weft_call_t call = weft_call_begin("MPI_Type_set_attr");
    weft_type_t *type;
    int err = weft_check_type(handle, &type);
    if (err == MPI_SUCCESS)
        err = weft_attribute_set(weft_type_attributes(type), keyval, value);
    return weft_call_end(&call, err);
}

/** The pointer that is kept with a datatype under a key (section 7.7.4).
 *  @param[in] datatype  a datatype, predefined ones included
 *  @param[out] attribute_val  the address of a variable that gets the pointer; left alone if
 *      there is none */
WEFT_API(MPI_Type_get_attr);
int PMPI_Type_get_attr(MPI_Datatype handle, int keyval, void *value_out, int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_attr");
    weft_type_t *type;
    int err = weft_check_type(handle, &type);
    if (err == MPI_SUCCESS)
        err = check_outputs(value_out, flag);
    if (err == MPI_SUCCESS)
        err = get(weft_type_attributes(type), keyval, value_out, flag);
    return weft_call_end(&call, err);
}

/** Deletes an attribute of a datatype (section 7.7.4). The key's delete callback is called first;
 *  if it returns anything but MPI_SUCCESS, the attribute stays. Where there is none, nothing
 *  happens.
 *  @param[in] datatype  a datatype, predefined ones included */
WEFT_API(MPI_Type_delete_attr);
int PMPI_Type_delete_attr(MPI_Datatype handle, int keyval)
{
    weft_call_t call = weft_call_begin("MPI_Type_delete_attr");
    weft_type_t *type;
    int err = weft_check_type(handle, &type);
    if (err == MPI_SUCCESS)
        err = weft_attribute_delete(weft_type_attributes(type), keyval);
    return weft_call_end(&call, err);
}
