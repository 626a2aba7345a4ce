/* SPDX-License-Identifier: BSD-3-Clause */
/* What a datatype was made of (MPI 5.0, section 5.1.13). */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "mpi/leaks.h"
#include "datatype/envelope.h"
#include "datatype/type.h"
#include "base/fail.h"

#include <limits.h>

/** Tells which constructor made a datatype, and how many arguments of each kind it was given
 *  (section 5.1.13). These are the lengths that the arrays of MPI_Type_get_contents need.
 *  @param[out] num_large_counts  how many counts and displacements were given to a _c form; 0 if
 *      the int form was called
 *  @param[out] combiner  which constructor it was: MPI_COMBINER_VECTOR, ...; MPI_COMBINER_NAMED for
 *      a predefined type, of which all numbers are 0
 *  @error MPI_ERR_TYPE  the int form is called for a type that a _c form has made with large
 *      counts, or that has more arguments than an int can count
 *  @see MPI_Type_get_contents */
WEFT_API(MPI_Type_get_envelope_c);
int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers,
                             MPI_Count *num_addresses, MPI_Count *num_large_counts,
                             MPI_Count *num_datatypes, int *combiner)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_envelope");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_integers, "num_integers");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_addresses, "num_addresses");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_large_counts, "num_large_counts");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_datatypes, "num_datatypes");
    if (err == MPI_SUCCESS)
        err = weft_check_output(combiner, "combiner");
    if (err == MPI_SUCCESS) {
        weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
        *num_integers = sizes.integers;
        *num_addresses = sizes.addresses;
        *num_large_counts = sizes.large_counts;
        *num_datatypes = sizes.types;
        *combiner = sizes.combiner;
    }
    return weft_call_end(&call, err);
}

/* The int forms have no place for large counts (MPI 5.0, section 5.1.13). */
static int check_is_narrow(const weft_type_t *type)
{
    weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
    if (sizes.large_counts > 0)
        return weft_fail(MPI_ERR_TYPE,
                         "datatype was made with large counts: only the _c form can tell them");
    if (sizes.integers > INT_MAX || sizes.addresses > INT_MAX || sizes.types > INT_MAX)
        return weft_fail(MPI_ERR_TYPE, "datatype has more arguments than an int can count");
    return MPI_SUCCESS;
}

WEFT_API(MPI_Type_get_envelope);
int PMPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses,
                           int *num_datatypes, int *combiner)
{
    weft_call_t call = weft_call_begin("MPI_Type_get_envelope");
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_integers, "num_integers");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_addresses, "num_addresses");
    if (err == MPI_SUCCESS)
        err = weft_check_output(num_datatypes, "num_datatypes");
    if (err == MPI_SUCCESS)
        err = weft_check_output(combiner, "combiner");
    if (err == MPI_SUCCESS)
        err = check_is_narrow(type);
    if (err == MPI_SUCCESS) {
        weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
        *num_integers = (int)sizes.integers;
        *num_addresses = (int)sizes.addresses;
        *num_datatypes = (int)sizes.types;
        *combiner = sizes.combiner;
    }
    return weft_call_end(&call, err);
}

/* An array of the user's for contents. */
typedef struct contents_room {
    MPI_Count room;
    const void *array;
    const char *room_name, *array_name;
} contents_room_t;

static int check_contents_room(const contents_room_t *place, MPI_Count needed)
{
    if (place->room < needed)
        return weft_fail(MPI_ERR_ARG, "%s is %lld, but must be at least %lld", place->room_name,
                         (long long)place->room, (long long)needed);
    if (place->array == NULL && needed > 0)
        return weft_fail(MPI_ERR_ARG, "%s is NULL, but gets %lld entries", place->array_name,
                         (long long)needed);
    return MPI_SUCCESS;
}

static int check_contents_rooms(const weft_type_t *type, const weft_envelope_sizes_t *room,
                                const weft_contents_t *out)
{
    const contents_room_t rooms[] = {
        {room->integers, out->integers, "max_integers", "array_of_integers"},
        {room->addresses, out->addresses, "max_addresses", "array_of_addresses"},
        {room->large_counts, out->large_counts, "max_large_counts", "array_of_large_counts"},
        {room->types, out->types, "max_datatypes", "array_of_datatypes"}};
    const weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
    const MPI_Count needed[] = {sizes.integers, sizes.addresses, sizes.large_counts, sizes.types};
    int err = MPI_SUCCESS;
    for (int i = 0; i < 4 && err == MPI_SUCCESS; i++)
        err = check_contents_room(&rooms[i], needed[i]);
    return err;
}

static void note_component(const weft_type_t *type)
{
    if (!type->is_predefined) /* which Fortran's parameterised types are, too */
        weft_note_given(WEFT_KIND_TYPE, type, "MPI_Type_get_contents");
}

static int get_contents(const weft_type_t *type, const weft_envelope_sizes_t *room,
                        const weft_contents_t *out)
{
    if (type->envelope == NULL)
        return weft_fail(MPI_ERR_TYPE, "datatype is %s, which is predefined", type->name);
    int err = check_contents_rooms(type, room, out);
    if (err == MPI_SUCCESS)
        weft_envelope_contents(type, out);
    for (size_t i = 0; i < type->envelope->type_count && err == MPI_SUCCESS; i++)
        note_component(type->envelope->types[i]);
    return err;
}

/** The arguments that the constructor of a datatype was given (section 5.1.13). Each array gets its
 *  arguments in the order of the call. The caller frees the derived types among array_of_datatypes
 *  with MPI_Type_free; predefined ones are not to be freed.
 *  @error MPI_ERR_TYPE  the type is predefined, or the int form is called for a type that a _c form
 *      has made with large counts
 *  @error MPI_ERR_ARG  an array is shorter than MPI_Type_get_envelope says
 *  @see MPI_Type_get_envelope */
WEFT_API(MPI_Type_get_contents_c);
int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes,
                             int array_of_integers[], MPI_Aint array_of_addresses[],
                             MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
    weft_call_t call = weft_call_begin("MPI_Type_get_contents");
    weft_envelope_sizes_t room = {max_integers, max_addresses, max_large_counts, max_datatypes, 0};
    weft_contents_t out = {array_of_integers, array_of_addresses, array_of_large_counts,
                           array_of_datatypes};
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = get_contents(type, &room, &out);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_get_contents);
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                           int max_datatypes, int array_of_integers[],
                           MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    weft_call_t call = weft_call_begin("MPI_Type_get_contents");
    weft_envelope_sizes_t room = {max_integers, max_addresses, 0, max_datatypes, 0};
    weft_contents_t out = {array_of_integers, array_of_addresses, NULL, array_of_datatypes};
    weft_type_t *type = NULL;
    int err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = check_is_narrow(type);
    if (err == MPI_SUCCESS)
        err = get_contents(type, &room, &out);
    return weft_call_end(&call, err);
}
