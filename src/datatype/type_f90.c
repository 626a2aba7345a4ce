/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran's types of a given precision and range (MPI 5.0, section 19.1.5). They are predefined,
 * and the same arguments give the same type, so that all stay until MPI ends.
 *
 * The kinds are those that gfortran and flang have: integers of 1, 2, 4, 8 and 16 bytes, reals of
 * 4, 8 and 16, and on x86 the one of 80 bits, whose elements have 16 bytes as a long double has.
 */
#include "datatype/envelope.h"
#include "datatype/layout_private.h"
#include "datatype/type.h"
#include "base/fail.h"
#include "base/memory.h"

#include <float.h>

/* A kind of Fortran: decimal digits and the decimal range, as Fortran's PRECISION and RANGE tell
 * them. */
typedef struct f90_kind {
    int digits, range;
    MPI_Datatype type, complex_type;
} f90_kind_t;

static const f90_kind_t real_kinds[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
#if LDBL_MANT_DIG == 64
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#endif
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

static const f90_kind_t integer_kinds[] = {
    {0, 2, MPI_INTEGER1, NULL},  {0, 4, MPI_INTEGER2, NULL},   {0, 9, MPI_INTEGER4, NULL},
    {0, 18, MPI_INTEGER8, NULL}, {0, 38, MPI_INTEGER16, NULL},
};

/* A type that was made, in a hash table. */
typedef struct f90_entry {
    struct f90_entry *next;
    weft_f90_arguments_t arguments;
    weft_type_t *type;
} f90_entry_t;

enum { BUCKETS = 256 };

static f90_entry_t *buckets[BUCKETS];

static f90_entry_t **bucket_of(const weft_f90_arguments_t *arguments)
{
    unsigned hash = (unsigned)arguments->combiner + 3 * (unsigned)arguments->precision +
                    101 * (unsigned)arguments->range;
    return &buckets[hash % BUCKETS];
}

static weft_type_t *find_made(const weft_f90_arguments_t *arguments)
{
    for (f90_entry_t *at = *bucket_of(arguments); at != NULL; at = at->next) {
        if (at->arguments.combiner == arguments->combiner &&
            at->arguments.precision == arguments->precision &&
            at->arguments.range == arguments->range)
            return at->type;
    }
    return NULL;
}

/* MPI_UNDEFINED is an argument left out. */
static int check_digits(int value, int most, const char *name)
{
    if (value == MPI_UNDEFINED || (value >= 0 && value <= most))
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "%s is %d, but must be in 0..%d", name, value, most);
}

static int check_real(const weft_f90_arguments_t *arguments)
{
    const f90_kind_t *widest = &real_kinds[sizeof(real_kinds) / sizeof(real_kinds[0]) - 1];
    int err = check_digits(arguments->precision, widest->digits, "p");
    if (err == MPI_SUCCESS)
        err = check_digits(arguments->range, widest->range, "r");
    if (err == MPI_SUCCESS && arguments->precision == MPI_UNDEFINED &&
        arguments->range == MPI_UNDEFINED)
        err = weft_fail(MPI_ERR_ARG, "p and r are MPI_UNDEFINED, but one of them must be given");
    return err;
}

static int check_integer(const weft_f90_arguments_t *arguments)
{
    const f90_kind_t *widest = &integer_kinds[sizeof(integer_kinds) / sizeof(integer_kinds[0]) - 1];
    if (arguments->range == MPI_UNDEFINED)
        return weft_fail(MPI_ERR_ARG, "r is MPI_UNDEFINED, but must be in 0..%d", widest->range);
    return check_digits(arguments->range, widest->range, "r");
}

/* The least kind that is enough; MPI_UNDEFINED is less than any other argument. */
static MPI_Datatype least_kind(const weft_f90_arguments_t *arguments)
{
    bool is_integer = arguments->combiner == MPI_COMBINER_F90_INTEGER;
    const f90_kind_t *kind = is_integer ? integer_kinds : real_kinds;
    while (kind->digits < arguments->precision || kind->range < arguments->range)
        kind++;
    return arguments->combiner == MPI_COMBINER_F90_COMPLEX ? kind->complex_type : kind->type;
}

static int make_f90(const weft_f90_arguments_t *arguments, weft_type_t **out)
{
    bool is_integer = arguments->combiner == MPI_COMBINER_F90_INTEGER;
    weft_envelope_shape_t shape = {
        arguments->combiner, 1, {{WEFT_SECTION_INT, is_integer ? 1 : 2}}, 0};
    weft_type_t *type, *base = weft_type_of(least_kind(arguments));
    int err = weft_type_create(&shape, &type);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Count *values = type->envelope->values;
    if (!is_integer)
        *values++ = arguments->precision;
    *values = arguments->range;
    weft_type_expand(type, base);
    type->layout = base->layout;
    type->has_layout = true;
    type->is_dense = true;
    type->is_committed = true;
    type->can_receive = true;
    type->is_predefined = true;
    type->machine = base->machine;
    type->group = base->group;
    *out = type;
    return MPI_SUCCESS;
}

int weft_type_f90(const weft_f90_arguments_t *arguments, weft_type_t **out)
{
    int err = arguments->combiner == MPI_COMBINER_F90_INTEGER ? check_integer(arguments)
                                                              : check_real(arguments);
    if (err != MPI_SUCCESS)
        return err;
    *out = find_made(arguments);
    if (*out != NULL)
        return MPI_SUCCESS;
    f90_entry_t *entry = weft_alloc(sizeof(*entry)), **bucket = bucket_of(arguments);
    if (entry == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a datatype");
    err = make_f90(arguments, out);
    if (err != MPI_SUCCESS) {
        weft_free(entry);
        return err;
    }
    *entry = (f90_entry_t){*bucket, *arguments, *out};
    *bucket = entry;
    return MPI_SUCCESS;
}

void weft_types_close_f90(void)
{
    for (int i = 0; i < BUCKETS; i++) {
        while (buckets[i] != NULL) {
            f90_entry_t *entry = buckets[i];
            buckets[i] = entry->next;
            weft_type_destroy(entry->type);
            weft_free(entry);
        }
    }
}
