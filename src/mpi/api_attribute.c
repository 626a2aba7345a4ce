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

WEFT_API(MPI_Comm_create_keyval);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
                            MPI_Comm_delete_attr_function *delete, int *keyval, void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_COMM, {.comm = copy}, {.comm = delete}, extra_state};
    return create_keyval("MPI_Comm_create_keyval", &args, keyval);
}

WEFT_API(MPI_Type_create_keyval);
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy,
                            MPI_Type_delete_attr_function *delete, int *keyval, void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_TYPE, {.type = copy}, {.type = delete}, extra_state};
    return create_keyval("MPI_Type_create_keyval", &args, keyval);
}

WEFT_API(MPI_Keyval_create);
int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *delete, int *keyval,
                       void *extra_state)
{
    weft_keyval_args_t args = {WEFT_KIND_COMM, {.comm = copy}, {.comm = delete}, extra_state};
    return create_keyval("MPI_Keyval_create", &args, keyval);
}

WEFT_API(MPI_Comm_free_keyval);
int PMPI_Comm_free_keyval(int *keyval)
{
    return free_keyval("MPI_Comm_free_keyval", WEFT_KIND_COMM, keyval);
}

WEFT_API(MPI_Type_free_keyval);
int PMPI_Type_free_keyval(int *keyval)
{
    return free_keyval("MPI_Type_free_keyval", WEFT_KIND_TYPE, keyval);
}

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

WEFT_API(MPI_Comm_set_attr);
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    return set_on_comm("MPI_Comm_set_attr", comm, keyval, value);
}

WEFT_API(MPI_Comm_get_attr);
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value_out, int *flag)
{
    return get_of_comm("MPI_Comm_get_attr", comm, keyval, value_out, flag);
}

WEFT_API(MPI_Comm_delete_attr);
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    return delete_of_comm("MPI_Comm_delete_attr", comm, keyval);
}

WEFT_API(MPI_Attr_put);
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return set_on_comm("MPI_Attr_put", comm, keyval, value);
}

WEFT_API(MPI_Attr_get);
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value_out, int *flag)
{
    return get_of_comm("MPI_Attr_get", comm, keyval, value_out, flag);
}

WEFT_API(MPI_Attr_delete);
int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return delete_of_comm("MPI_Attr_delete", comm, keyval);
}

/* ---- datatypes ---- */

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
