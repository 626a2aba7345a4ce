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

/** Makes a datatype ready for use with data (section 5.1.9). It is needed before the type describes
 *  a buffer, not before other types are made of it. Predefined types are committed; to commit a
 *  type again has no effect.
 *  @param[in,out] datatype  the datatype, whose handle does not change
 *  @error MPI_ERR_TYPE  datatype is MPI_DATATYPE_NULL or no datatype */
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

/** Gives up a datatype and sets the handle to MPI_DATATYPE_NULL (section 5.1.9). Operations in
 *  progress and types made of it are not affected. Delete callbacks of attributes are called, that
 *  of the attribute set last first; if one returns anything but MPI_SUCCESS, so does this function,
 *  and the type stays.
 *  @param[in,out] datatype  the datatype
 *  @error MPI_ERR_TYPE  datatype is MPI_DATATYPE_NULL, no datatype, or predefined, as those of
 *      MPI_Type_create_f90_real and its like are */
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

/** Copies a datatype (section 5.1.10). The copy is committed if oldtype is. It has the attributes
 *  whose copy callbacks ask for it, and no name. If a copy callback returns anything but
 *  MPI_SUCCESS, so does this function, and there is no copy.
 *  @param[in] oldtype  any datatype, predefined ones included
 *  @param[out] newtype  the copy, to be freed with MPI_Type_free */
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

static int get_size(const char *name, MPI_Datatype datatype, MPI_Count *size)
{
    weft_call_t call = weft_call_begin(name);
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        *size = (MPI_Count)type->size;
    return weft_call_end(&call, err);
}

/** How many bytes of data an element of a datatype has, without gaps (section 5.1.5).
 *  @param[out] size  bytes; in the int form MPI_UNDEFINED if an int cannot hold them
 *  @see MPI_Type_get_extent */
WEFT_API(MPI_Type_size_c);
int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
    return get_size("MPI_Type_size", datatype, size);
}

/** Does what MPI_Type_size_c does, under a name that is deprecated since MPI 4.1 (section 5.1.5).
 *  @param[out] size  bytes */
WEFT_API(MPI_Type_size_x);
int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    return get_size("MPI_Type_size_x", datatype, size);
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

static int get_extent(const char *name, MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    weft_call_t call = weft_call_begin(name);
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

/** The lower bound and the extent of a datatype (section 5.1.7). The extent is the distance in
 *  memory between two elements that follow each other. Both are what MPI_Type_create_resized has
 *  set, or else come from the data.
 *  @param[out] lb  the lower bound in bytes; may be negative
 *  @param[out] extent  the upper bound less the lower bound, in bytes
 *  @see MPI_Type_get_true_extent, MPI_Type_size */
WEFT_API(MPI_Type_get_extent_c);
int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return get_extent("MPI_Type_get_extent", datatype, lb, extent);
}

/** Does what MPI_Type_get_extent_c does, under a name that is deprecated since MPI 4.1
 *  (section 5.1.7).
 *  @copydoc MPI_Type_get_extent */
WEFT_API(MPI_Type_get_extent_x);
int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return get_extent("MPI_Type_get_extent_x", datatype, lb, extent);
}

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "extents are stored through either");

WEFT_API(MPI_Type_get_extent);
int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    return PMPI_Type_get_extent_c(datatype, (MPI_Count *)lb, (MPI_Count *)extent);
}

static int get_true_extent(const char *name, MPI_Datatype datatype, MPI_Count *true_lb,
                           MPI_Count *true_extent)
{
    weft_call_t call = weft_call_begin(name);
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

/** Where the data of an element really begin and end, whatever bounds the datatype was given
 *  (section 5.1.8). That is the memory that one element needs.
 *  @param[out] true_lb  the first byte of data, counted from the buffer; may be negative
 *  @param[out] true_extent  bytes from there to behind the last byte of data
 *  @see MPI_Type_get_extent */
WEFT_API(MPI_Type_get_true_extent_c);
int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return get_true_extent("MPI_Type_get_true_extent", datatype, true_lb, true_extent);
}

/** Does what MPI_Type_get_true_extent_c does, under a name that is deprecated since MPI 4.1
 *  (section 5.1.8).
 *  @copydoc MPI_Type_get_true_extent */
WEFT_API(MPI_Type_get_true_extent_x);
int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return get_true_extent("MPI_Type_get_true_extent_x", datatype, true_lb, true_extent);
}

WEFT_API(MPI_Type_get_true_extent);
int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
    return PMPI_Type_get_true_extent_c(datatype, (MPI_Count *)true_lb, (MPI_Count *)true_extent);
}

/** Gives a datatype a name, at this process (section 7.8).
 *  @param[in] datatype  any datatype, predefined ones included
 *  @param[in] type_name  a string that is copied, at most MPI_MAX_OBJECT_NAME - 1 letters of it
 *  @error MPI_ERR_ARG  type_name is NULL */
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

/** The name of a datatype (section 7.8). Types that are constants of MPI have the names of these,
 *  MPI_DATATYPE_NULL included; any other has an empty name until it is given one.
 *  @param[in] datatype  the datatype, or MPI_DATATYPE_NULL
 *  @error MPI_ERR_TYPE  datatype is neither MPI_DATATYPE_NULL nor a datatype */
WEFT_API(MPI_Type_get_name);
int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_name");
    weft_type_t *type = NULL;
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

/** The address of a place in memory, as displacements of datatypes that are used with MPI_BOTTOM
 *  need it (section 5.1.5).
 *  @param[in] location  the place
 *  @param[out] address  its address, for MPI_Aint_diff or as a displacement */
WEFT_API(MPI_Get_address);
int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    weft_call_t call = weft_call_begin("MPI_Get_address");
    int err = weft_check_output(address, "address");
    if (err == MPI_SUCCESS)
        *address = (MPI_Aint)location;
    return weft_call_end(&call, err);
}

/** The address that lies a number of bytes behind another (section 5.1.5). Returns base + disp.
 *  There are no errors, and it may be called at any time.
 *  @param[in] base  an address that MPI_Get_address gave
 *  @see MPI_Aint_diff */
WEFT_API(MPI_Aint_add);
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

/** The distance of two addresses in bytes (section 5.1.5). Returns addr1 - addr2. There are no
 *  errors, and it may be called at any time.
 *  @see MPI_Aint_add, MPI_Get_address */
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

/** The predefined datatype for numbers of Fortran that have a given size (section 19.1.5). It is
 *  not to be freed.
 *  @param[in] typeclass  MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_TYPECLASS_COMPLEX or
 *      MPIX_TYPECLASS_LOGICAL
 *  @param[in] size  bytes: 1, 2, 4, 8 or 16 of integers and logicals, 2, 4, 8 or 16 of reals, 4, 8,
 *      16 or 32 of complex numbers
 *  @param[out] datatype  such as MPI_INTEGER4 or MPI_REAL8
 *  @error MPI_ERR_ARG  there is no such class, or no type of that class and size */
WEFT_API(MPI_Type_match_size);
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    weft_call_t call = weft_call_begin("MPI_Type_match_size");
    int err = weft_check_output(datatype, "datatype");
    if (err == MPI_SUCCESS)
        err = match_size(typeclass, size, datatype);
    return weft_call_end(&call, err);
}

/* MPI_DATATYPE_NULL when there is no such pair type. */
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

/** The predefined datatype for pairs of a value and an index, as MPI_MINLOC and MPI_MAXLOC take
 *  them (section 6.9.4). It is not to be freed.
 *  @param[in] value_type  the datatype of the values
 *  @param[in] index_type  the datatype of the indices
 *  @param[out] pair_type  such as MPI_DOUBLE_INT; MPI_DATATYPE_NULL if there is no pair of the two
 *  @note There are the pairs of MPI_FLOAT, MPI_DOUBLE, MPI_LONG, MPI_INT, MPI_SHORT and
 *      MPI_LONG_DOUBLE with MPI_INT, and those of MPI_REAL, MPI_DOUBLE_PRECISION and MPI_INTEGER
 *      with themselves. */
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

/** The integer that stands for a datatype in other languages (section 20.4). It is the same for as
 *  long as the datatype lives. May be called at any time, and raises no error.
 *  @param[in] datatype  any datatype, MPI_DATATYPE_NULL included
 *  @see MPI_Type_fromint */
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

/** The datatype that an integer of MPI_Type_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_DATATYPE_NULL.
 *  @see MPI_Type_toint */
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
