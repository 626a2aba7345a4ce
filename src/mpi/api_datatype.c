/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes, except their constructors and what these keep (MPI 5.0, chapter 5). */
#include "mpi/api.h"
#include "mpi/attribute_owner.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "mpi/leaks.h"
#include "datatype/type.h"
#include "object/int_handles.h"
#include "base/fail.h"

#include <limits.h>
#include <string.h>

WEFT_API(MPI_Type_commit);
int PMPI_Type_commit(MPI_Datatype *datatype)
{
    weft_call_t call = weft_call_begin("MPI_Type_commit");
    weft_type_t *type = NULL;
    int err = weft_check_output(datatype, "datatype");
    if (err == MPI_SUCCESS)
        err = weft_check_type(*datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_type_commit(type);
    return weft_call_end(&call, err);
}

static int free_type(MPI_Datatype *datatype)
{
    weft_type_t *type = NULL;
    int err = weft_check_type(*datatype, &type);
    if (err != MPI_SUCCESS)
        return err;
    if (type->is_predefined && type->envelope != NULL)
        return weft_fail(MPI_ERR_TYPE, "datatype is one of Fortran's types, which are predefined");
    if (type->is_predefined)
        return weft_fail(MPI_ERR_TYPE, "datatype is %s, which is predefined", type->name);
    err = weft_attributes_delete_all(weft_type_attributes(type));
    if (err != MPI_SUCCESS)
        return err;
    weft_note_back(*datatype);
    weft_type_release(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

WEFT_API(MPI_Type_free);
int PMPI_Type_free(MPI_Datatype *datatype)
{
    weft_call_t call = weft_call_begin("MPI_Type_free");
    int err = weft_check_output(datatype, "datatype");
    if (err == MPI_SUCCESS)
        err = free_type(datatype);
    return weft_call_end(&call, err);
}

static int copy_type_attributes(weft_type_t *from, weft_type_t *to)
{
    int err = weft_attributes_copy(weft_type_attributes(from), weft_type_attributes(to));
    if (err != MPI_SUCCESS)
        weft_type_release(to);
    return err;
}

WEFT_API(MPI_Type_dup);
int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_dup");
    weft_type_t *old = NULL, *type = NULL;
    int err = weft_check_named_type(oldtype, "oldtype", &old);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newtype, "newtype");
    if (err == MPI_SUCCESS)
        err = weft_type_dup(old, &type);
    if (err == MPI_SUCCESS)
        err = copy_type_attributes(old, type);
    if (err == MPI_SUCCESS)
        *newtype = weft_give_type(call.name, type);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_size_c);
int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
    weft_call_t call = weft_call_begin("MPI_Type_size");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        *size = (MPI_Count)type->size;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_size_x);
int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    return PMPI_Type_size_c(datatype, size);
}

/* A result that does not fit an int is MPI_UNDEFINED (MPI 5.0, section 5.1.5). */
static int int_or_undefined(MPI_Count value)
{
    return value > INT_MAX ? MPI_UNDEFINED : (int)value;
}

WEFT_API(MPI_Type_size);
int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    MPI_Count wide;
    int err = PMPI_Type_size_c(datatype, size == NULL ? NULL : &wide);
    if (err == MPI_SUCCESS && size != NULL)
        *size = int_or_undefined(wide);
    return err;
}

WEFT_API(MPI_Type_get_extent_c);
int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_extent");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(lb, "lb");
    if (err == MPI_SUCCESS)
        err = weft_check_output(extent, "extent");
    if (err == MPI_SUCCESS) {
        *lb = type->lb;
        *extent = type->extent;
    }
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_get_extent_x);
int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return PMPI_Type_get_extent_c(datatype, lb, extent);
}

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "extents are stored through either");

WEFT_API(MPI_Type_get_extent);
int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    return PMPI_Type_get_extent_c(datatype, (MPI_Count *)lb, (MPI_Count *)extent);
}

WEFT_API(MPI_Type_get_true_extent_c);
int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_true_extent");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(true_lb, "true_lb");
    if (err == MPI_SUCCESS)
        err = weft_check_output(true_extent, "true_extent");
    if (err == MPI_SUCCESS) {
        *true_lb = type->true_lb;
        *true_extent = type->true_extent;
    }
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_get_true_extent_x);
int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return PMPI_Type_get_true_extent_c(datatype, true_lb, true_extent);
}

WEFT_API(MPI_Type_get_true_extent);
int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
    return PMPI_Type_get_true_extent_c(datatype, (MPI_Count *)true_lb, (MPI_Count *)true_extent);
}

WEFT_API(MPI_Type_set_name);
int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    weft_call_t call = weft_call_begin("MPI_Type_set_name");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS && type_name == NULL)
        err = weft_fail(MPI_ERR_ARG, "type_name is NULL");
    if (err == MPI_SUCCESS) {
        size_t length = strnlen(type_name, MPI_MAX_OBJECT_NAME - 1);
        memcpy(type->name, type_name, length);
        type->name[length] = '\0';
    }
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_get_name);
int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_name");
    weft_type_t *type = NULL;
    /* MPI_DATATYPE_NULL has a name too (MPI 5.0, section 7.8). */
    int err = datatype == MPI_DATATYPE_NULL ? MPI_SUCCESS : weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(type_name, "type_name");
    if (err == MPI_SUCCESS)
        err = weft_check_output(resultlen, "resultlen");
    if (err == MPI_SUCCESS) {
        const char *name = type == NULL ? "MPI_DATATYPE_NULL" : type->name;
        size_t length = strlen(name);
        memcpy(type_name, name, length + 1);
        *resultlen = (int)length;
    }
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Get_address);
int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    weft_call_t call = weft_call_begin("MPI_Get_address");
    int err = weft_check_output(address, "address");
    if (err == MPI_SUCCESS)
        *address = (MPI_Aint)location;
    return weft_call_end(&call, err);
}

/* Address arithmetic has no error to report, and may be called at any time. */
WEFT_API(MPI_Aint_add);
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

WEFT_API(MPI_Aint_diff);
MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

typedef struct sized_type {
    int typeclass, size;
    MPI_Datatype datatype;
} sized_type_t;

static int match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    const sized_type_t types[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
        {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},  {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
        {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},  {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
    };
    bool is_class = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        is_class |= types[i].typeclass == typeclass;
        if (types[i].typeclass == typeclass && types[i].size == size) {
            *datatype = types[i].datatype;
            return MPI_SUCCESS;
        }
    }
    if (!is_class)
        return weft_fail(MPI_ERR_ARG,
                         "typeclass is %d, but must be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
                         typeclass);
    return weft_fail(MPI_ERR_ARG, "size is %d, but there is no type of that class and size", size);
}

WEFT_API(MPI_Type_match_size);
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    weft_call_t call = weft_call_begin("MPI_Type_match_size");
    int err = weft_check_output(datatype, "datatype");
    if (err == MPI_SUCCESS)
        err = match_size(typeclass, size, datatype);
    return weft_call_end(&call, err);
}

/* MPI_DATATYPE_NULL when there is no such pair type: section 5.1.3 asks for no others. */
static MPI_Datatype find_pair(MPI_Datatype value, MPI_Datatype index)
{
    const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i][0] == value && pairs[i][1] == index)
            return pairs[i][2];
    }
    return MPI_DATATYPE_NULL;
}

WEFT_API(MPI_Type_get_value_index);
int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                              MPI_Datatype *pair_type)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_value_index");
    weft_type_t *type = NULL;
    int err = weft_check_named_type(value_type, "value_type", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_named_type(index_type, "index_type", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(pair_type, "pair_type");
    if (err == MPI_SUCCESS)
        *pair_type = find_pair(value_type, index_type);
    return weft_call_end(&call, err);
}

/* Conversions of handles report no errors, and may be called at any time. */
WEFT_API(MPI_Type_toint);
int PMPI_Type_toint(MPI_Datatype datatype)
{
    if (weft_is_predefined(datatype))
        return (int)(intptr_t)datatype;
    weft_type_t *type = weft_type_of(datatype);
    if (type == NULL)
        return (int)(intptr_t)MPI_DATATYPE_NULL;
    weft_lock();
    if (type->index == 0)
        type->index = weft_int_handles_add(&weft_type_int_handles, type);
    weft_unlock();
    return type->index;
}

WEFT_API(MPI_Type_fromint);
MPI_Datatype PMPI_Type_fromint(int datatype)
{
    if (datatype >= 0 && datatype < WEFT_PREDEFINED_HANDLES)
        return (MPI_Datatype)(intptr_t)datatype;
    weft_lock();
    weft_type_t *type = weft_int_handles_find(&weft_type_int_handles, datatype);
    weft_unlock();
    return type == NULL ? MPI_DATATYPE_NULL : weft_type_handle(type);
}
