/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every predefined operation on types of all groups, through each reduction: the results are those
 * of MPI_Reduce_local applied to the operands in the order of ranks.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <mpix.h>

#include <stddef.h>
#include <string.h>

/* The rows of the table of legal operations (MPI 5.0, section 6.9.2), extended by MPI_CHAR and the
 * logical operations of several languages. */
enum {
    C_INTEGER = 1,
    FLOATING = 2,
    LOGICAL = 4,
    COMPLEX = 8,
    BYTE = 16,
    MULTI_LANGUAGE = 32,
    PAIR = 64,
    ORDERED = C_INTEGER | FLOATING | MULTI_LANGUAGE,
    TRUTHS = C_INTEGER | LOGICAL | MULTI_LANGUAGE,
    BITS = C_INTEGER | BYTE | MULTI_LANGUAGE,
};

enum { LENGTH = 19, MOST_BYTES = 32 };

static const struct {
    const char *name;
    MPI_Datatype type;
    unsigned group;
    unsigned gap_first, gap_end; /* bytes without meaning */
} types[] = {
    {"char", MPI_CHAR, C_INTEGER, 0, 0},
    {"signed char", MPI_SIGNED_CHAR, C_INTEGER, 0, 0},
    {"unsigned char", MPI_UNSIGNED_CHAR, C_INTEGER, 0, 0},
    {"short", MPI_SHORT, C_INTEGER, 0, 0},
    {"int", MPI_INT, C_INTEGER, 0, 0},
    {"unsigned", MPI_UNSIGNED, C_INTEGER, 0, 0},
    {"long long", MPI_LONG_LONG, C_INTEGER, 0, 0},
    {"uint64_t", MPI_UINT64_T, C_INTEGER, 0, 0},
    {"MPI_Aint", MPI_AINT, MULTI_LANGUAGE, 0, 0},
    {"MPI_Count", MPI_COUNT, MULTI_LANGUAGE, 0, 0},
    {"float", MPI_FLOAT, FLOATING, 0, 0},
    {"double", MPI_DOUBLE, FLOATING, 0, 0},
    {"long double", MPI_LONG_DOUBLE, FLOATING, 10, 16},
    {"half", MPIX_C_FLOAT16, FLOATING, 0, 0},
    {"bfloat16", MPIX_BFLOAT16, FLOATING, 0, 0},
    {"E4M3", MPIX_FLOAT8_E4M3, FLOATING, 0, 0},
    {"E5M2", MPIX_FLOAT8_E5M2, FLOATING, 0, 0},
    {"bool", MPI_C_BOOL, LOGICAL, 0, 0},
    {"float complex", MPI_C_FLOAT_COMPLEX, COMPLEX, 0, 0},
    {"double complex", MPI_C_DOUBLE_COMPLEX, COMPLEX, 0, 0},
    {"byte", MPI_BYTE, BYTE, 0, 0},
    {"float int", MPI_FLOAT_INT, PAIR, 0, 0},
    {"double int", MPI_DOUBLE_INT, PAIR, 12, 16},
    {"long int", MPI_LONG_INT, PAIR, 12, 16},
    {"short int", MPI_SHORT_INT, PAIR, 2, 4},
    {"two ints", MPI_2INT, PAIR, 0, 0},
};

static const struct {
    const char *name;
    MPI_Op op;
    unsigned groups;
} operations[] = {
    {"MPI_MAX", MPI_MAX, ORDERED},
    {"MPI_MIN", MPI_MIN, ORDERED},
    {"MPI_SUM", MPI_SUM, ORDERED | COMPLEX},
    {"MPI_PROD", MPI_PROD, ORDERED | COMPLEX},
    {"MPI_LAND", MPI_LAND, TRUTHS},
    {"MPI_LOR", MPI_LOR, TRUTHS},
    {"MPI_LXOR", MPI_LXOR, TRUTHS},
    {"MPI_BAND", MPI_BAND, BITS},
    {"MPI_BOR", MPI_BOR, BITS},
    {"MPI_BXOR", MPI_BXOR, BITS},
    {"MPI_MAXLOC", MPI_MAXLOC, PAIR},
    {"MPI_MINLOC", MPI_MINLOC, PAIR},
};

enum {
    TYPES = sizeof(types) / sizeof(types[0]),
    OPERATIONS = sizeof(operations) / sizeof(operations[0])
};

/* LENGTH elements; gaps are cleared so that whole elements can be compared. */
typedef struct vector {
    _Alignas(16) char bytes[LENGTH * MOST_BYTES];
} vector_t;

/* There are few values, so that there are ties and zeros, and small ones, so that sums and products
 * of all are exact. */
static int small(int rank, int index)
{
    return (rank * 7 + index * 5) % 4 - (index % 3 == 0);
}

/* A small number as `bytes` bytes: sign, exponent, fraction. */
static int small_float(int value, int bytes, int fraction_bits, int bias)
{
    int magnitude = value < 0 ? -value : value, exponent = 0;
    if (value == 0)
        return 0;
    while (magnitude >> exponent > 1)
        exponent++;
    int fraction = (magnitude << fraction_bits >> exponent) - (1 << fraction_bits);
    return (value < 0) << (8 * bytes - 1) | (exponent + bias) << fraction_bits | fraction;
}

/* Stores `value` in the form of the type; MPI_BYTE and integers by their low bytes. */
static void store_number(char *at, MPI_Datatype type, long long value, size_t bytes)
{
    if (type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX)
        memcpy(at, &(float){(float)value}, sizeof(float));
    else if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX)
        memcpy(at, &(double){(double)value}, sizeof(double));
    else if (type == MPI_LONG_DOUBLE)
        memcpy(at, &(long double){value}, 10);
    else if (type == MPIX_C_FLOAT16) /* the product of many 3 would be rounded */
        memcpy(at, &(short){(short)small_float(value == 3 ? 2 : (int)value, 2, 10, 15)}, 2);
    else if (type == MPIX_BFLOAT16)
        memcpy(at, &(short){(short)small_float(value == 3 ? 2 : (int)value, 2, 7, 127)}, 2);
    else if (type == MPIX_FLOAT8_E4M3) /* the sum of many 2 as well */
        *at = (char)small_float(value > 1 ? 1 : (int)value, 1, 3, 7);
    else if (type == MPIX_FLOAT8_E5M2)
        *at = (char)small_float(value > 1 ? 1 : (int)value, 1, 2, 15);
    else if (type == MPI_C_BOOL)
        *at = value != 0;
    else
        memcpy(at, &value, bytes < sizeof(value) ? bytes : sizeof(value));
}

typedef struct float_int {
    float value;
    int index;
} float_int_t;
typedef struct double_int {
    double value;
    int index;
} double_int_t;
typedef struct long_int {
    long value;
    int index;
} long_int_t;
typedef struct short_int {
    short value;
    int index;
} short_int_t;

static void store_pair(char *at, MPI_Datatype type, int value, int index)
{
    size_t offset = sizeof(int);
    if (type == MPI_FLOAT_INT) {
        memcpy(at, &(float){(float)value}, sizeof(float));
        offset = offsetof(float_int_t, index);
    } else if (type == MPI_DOUBLE_INT) {
        memcpy(at, &(double){value}, sizeof(double));
        offset = offsetof(double_int_t, index);
    } else if (type == MPI_LONG_INT) {
        memcpy(at, &(long){value}, sizeof(long));
        offset = offsetof(long_int_t, index);
    } else if (type == MPI_SHORT_INT) {
        memcpy(at, &(short){(short)value}, sizeof(short));
        offset = offsetof(short_int_t, index);
    } else {
        memcpy(at, &value, sizeof(value));
    }
    memcpy(at + offset, &index, sizeof(index));
}

static MPI_Datatype type;
static MPI_Op op;
static size_t extent;
static char what[80];
static int type_index;

static void fill(vector_t *vector, int rank, unsigned group)
{
    memset(vector, 0, sizeof(*vector));
    for (int i = 0; i < LENGTH; i++) {
        char *at = vector->bytes + (size_t)i * extent;
        if (group == PAIR)
            store_pair(at, type, small(rank, i), (rank + i) % expect_size);
        else
            store_number(at, type, small(rank, i), extent);
        if (group == COMPLEX)
            store_number(at + extent / 2, type, small(rank, i + 1), extent / 2);
    }
}

/* Combines the operands of ranks 0 to last in this order. */
static void combine(vector_t *out, int last, unsigned group)
{
    fill(out, 0, group);
    for (int rank = 1; rank <= last; rank++) {
        vector_t next;
        fill(&next, rank, group);
        MPI_Reduce_local(out, &next, LENGTH, type, op);
        *out = next;
    }
}

static void clear_gaps(vector_t *vector)
{
    unsigned first = types[type_index].gap_first, end = types[type_index].gap_end;
    for (size_t i = 0; i < LENGTH; i++)
        memset(vector->bytes + i * extent + first, 0, end - first);
}

/* The sign of a zero depends on the order in which complex numbers are multiplied. */
static void clear_signs_of_zero(vector_t *vector)
{
    const float no_float = 0;
    const double no_double = 0;
    for (size_t at = 0; types[type_index].group == COMPLEX && at < LENGTH * extent;
         at += extent / 2) {
        float as_float;
        double as_double;
        memcpy(&as_float, vector->bytes + at, sizeof(as_float));
        memcpy(&as_double, vector->bytes + at, sizeof(as_double));
        if (extent == 2 * sizeof(float) && as_float == 0)
            memcpy(vector->bytes + at, &no_float, sizeof(no_float));
        if (extent == 2 * sizeof(double) && as_double == 0)
            memcpy(vector->bytes + at, &no_double, sizeof(no_double));
    }
}

static void check(const char *function, vector_t *got, vector_t *expected, size_t bytes)
{
    clear_gaps(got);
    clear_gaps(expected);
    clear_signs_of_zero(got);
    clear_signs_of_zero(expected);
    if (memcmp(got, expected, bytes) == 0 || ++expect_failures > 10)
        return;
    size_t i = 0;
    while (got->bytes[i] == expected->bytes[i])
        i++;
    fprintf(stderr, "rank %d of %d: %s, %s: element %zu, byte %zu is 0x%02x, not 0x%02x\n",
            expect_rank, expect_size, function, what, i / extent, i % extent,
            (unsigned char)got->bytes[i], (unsigned char)expected->bytes[i]);
}

/* The kinds of memory of the buffers of calls. */
static char in_kind, out_kind;
static void *in, *out;

static void make_buffers(void)
{
    in_kind = memory_next_kind();
    out_kind = memory_next_kind();
    in = memory_take(in_kind, sizeof(vector_t));
    out = memory_take(out_kind, sizeof(vector_t));
}

static void free_buffers(void)
{
    memory_give(in_kind, in);
    memory_give(out_kind, out);
}

/* A call that reads `in` and writes `out`. */
#define CALL(own, got, function, ...)                                                              \
    do {                                                                                           \
        memory_put(in_kind, in, own, sizeof(*(own)));                                              \
        memory_put(out_kind, out, got, sizeof(*(got)));                                            \
        function(__VA_ARGS__, MPI_COMM_WORLD);                                                     \
        memory_get(out_kind, got, out, sizeof(*(got)));                                            \
    } while (0)

static void test_all(unsigned group, int root)
{
    vector_t own, got, expected, before, part;
    size_t bytes = LENGTH * extent;
    fill(&own, expect_rank, group);
    combine(&expected, expect_size - 1, group);
    memset(&got, 0, sizeof(got));
    CALL(&own, &got, MPI_Allreduce, in, out, LENGTH, type, op);
    check("MPI_Allreduce", &got, &expected, bytes);
    got = own;
    CALL(&own, &got, MPI_Reduce, expect_rank == root ? MPI_IN_PLACE : in, out, LENGTH, type, op,
         root);
    check("MPI_Reduce", &got, expect_rank == root ? &expected : &own, bytes);
    combine(&part, expect_rank, group);
    memset(&got, 0, sizeof(got));
    CALL(&own, &got, MPI_Scan, in, out, LENGTH, type, op);
    check("MPI_Scan", &got, &part, bytes);
    combine(&before, expect_rank - 1, group);
    got = own;
    CALL(&own, &got, MPI_Exscan, MPI_IN_PLACE, out, LENGTH, type, op);
    check("MPI_Exscan", &got, expect_rank == 0 ? &own : &before, bytes);
    int counts[64] = {0};
    counts[expect_size - 1] = LENGTH - expect_size + 1;
    for (int i = 0; i < expect_size - 1; i++)
        counts[i] = 1;
    memset(&got, 0, sizeof(got));
    CALL(&own, &got, MPI_Reduce_scatter, in, out, counts, type, op);
    memcpy(part.bytes, expected.bytes + (size_t)expect_rank * extent,
           (size_t)counts[expect_rank] * extent);
    check("MPI_Reduce_scatter", &got, &part, (size_t)counts[expect_rank] * extent);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    make_buffers();
    for (int i = 0; i < TYPES; i++) {
        for (int j = 0; j < OPERATIONS; j++) {
            MPI_Aint lb, span;
            if ((operations[j].groups & types[i].group) == 0)
                continue;
            type_index = i;
            type = types[i].type;
            op = operations[j].op;
            MPI_Type_get_extent(type, &lb, &span);
            extent = (size_t)span;
            snprintf(what, sizeof(what), "%s of %s", operations[j].name, types[i].name);
            test_all(types[i].group, (i + j) % expect_size);
        }
    }
    free_buffers();
    return expect_end();
}
