/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_REPRODUCIBLE: every reduction is ((x0 op x1) op x2) ... in the order of ranks, bit by bit as
 * MPI_Reduce_local applied to the operands one by one. The operands are rounded at nearly every
 * step, and the operation of this program is not even associative.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <mpix.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static MPI_Op mix;

static const struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op *op;
} kinds[] = {
    {"sums of double", MPI_DOUBLE, &(MPI_Op){MPI_SUM}},
    {"products of double", MPI_DOUBLE, &(MPI_Op){MPI_PROD}},
    {"sums of float", MPI_FLOAT, &(MPI_Op){MPI_SUM}},
    {"sums of long double", MPI_LONG_DOUBLE, &(MPI_Op){MPI_SUM}},
    {"sums of halves", MPIX_C_FLOAT16, &(MPI_Op){MPI_SUM}},
    {"sums of bfloat16", MPIX_BFLOAT16, &(MPI_Op){MPI_SUM}},
    {"products of bfloat16", MPIX_BFLOAT16, &(MPI_Op){MPI_PROD}},
    {"sums of E5M2", MPIX_FLOAT8_E5M2, &(MPI_Op){MPI_SUM}},
    {"products of complex", MPI_C_FLOAT_COMPLEX, &(MPI_Op){MPI_PROD}},
    {"mixtures of double", MPI_DOUBLE, &mix},
};

static const struct kind *kind;
static size_t extent;
static const char *doing;

/* Neither associative nor commutative. */
static void mix_doubles(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const double *left = in;
    double *right = inout;
    (void)type;
    for (int i = 0; i < *length; i++)
        right[i] = 0.75 * left[i] + 0.5 * right[i];
}

/* ---- operands ---- */

/* Between 0.5 and 1.5, with all digits. */
static double number_of(int rank, int index)
{
    uint32_t seed = (uint32_t)rank * 2654435761u + (uint32_t)index * 40503u + 12345;
    seed = (seed ^ seed >> 15) * 2246822519u;
    seed = (seed ^ seed >> 13) * 3266489917u;
    return 0.5 + (seed ^ seed >> 16) / 4294967296.0;
}

static uint16_t small_float_of(double number, int fraction_bits, int bias)
{
    int exponent = number >= 1 ? 0 : -1;
    double fraction = (exponent == 0 ? number : 2 * number) - 1;
    return (uint16_t)((exponent + bias) << fraction_bits | (int)(fraction * (1 << fraction_bits)));
}

static void store(char *at, double number, double next)
{
    if (kind->type == MPI_DOUBLE)
        memcpy(at, &number, sizeof(number));
    else if (kind->type == MPI_FLOAT)
        memcpy(at, &(float){(float)number}, sizeof(float));
    else if (kind->type == MPI_C_FLOAT_COMPLEX)
        memcpy(at, (float[2]){(float)number, (float)next - 1}, 2 * sizeof(float));
    else if (kind->type == MPI_LONG_DOUBLE)
        memcpy(at, &(long double){(long double)number / 3}, 10); /* without its gap */
    else if (kind->type == MPIX_FLOAT8_E5M2)
        *at = (char)small_float_of(number, 2, 15);
    else
        memcpy(at,
               &(uint16_t){kind->type == MPIX_C_FLOAT16 ? small_float_of(number, 10, 15)
                                                        : small_float_of(number, 7, 127)},
               sizeof(uint16_t));
}

/* Elements first to first + length of the operand of a rank. */
static void write_operand(char *out, int rank, int first, int length)
{
    memset(out, 0, (size_t)length * extent);
    for (int i = 0; i < length; i++)
        store(out + (size_t)i * extent, number_of(rank, first + i),
              number_of(rank + 1000, first + i));
}

/* Operands of ranks 0 to `last`, one by one; the caller frees it. */
static char *fold(int last, int first, int length)
{
    size_t bytes = (size_t)length * extent + 1;
    char *sum = malloc(bytes), *next = malloc(bytes);
    write_operand(sum, 0, first, length);
    for (int rank = 1; rank <= last; rank++) {
        write_operand(next, rank, first, length);
        MPI_Reduce_local(sum, next, length, kind->type, *kind->op);
        char *swap = sum;
        sum = next;
        next = swap;
    }
    free(next);
    return sum;
}

/* ---- buffers ---- */

typedef struct buffer {
    char memory;
    int length;
    char *at;
} buffer_t;

/* A buffer with this rank's operand. */
static buffer_t operand(int length)
{
    size_t bytes = (size_t)length * extent + 1;
    buffer_t buffer = {.memory = memory_next_kind(), .length = length};
    char *content = malloc(bytes);
    write_operand(content, expect_rank, 0, length);
    buffer.at = memory_take(buffer.memory, bytes);
    memory_put(buffer.memory, buffer.at, content, bytes - 1);
    free(content);
    return buffer;
}

static void clear_gaps(char *content, int length)
{
    for (int i = 0; kind->type == MPI_LONG_DOUBLE && i < length; i++)
        memset(content + (size_t)i * extent + 10, 0, extent - 10);
}

/* The first `length` elements are the fold over ranks 0 to `last` of elements from `first`. */
static void expect_fold(const buffer_t *buffer, int last, int first, int length)
{
    size_t bytes = (size_t)length * extent;
    char *content = malloc(bytes + 1), *expected = fold(last, first, length);
    memory_get(buffer->memory, content, buffer->at, bytes);
    clear_gaps(content, length);
    clear_gaps(expected, length);
    size_t at = 0;
    while (at < bytes && content[at] == expected[at])
        at++;
    if (at < bytes && ++expect_failures <= 10)
        fprintf(stderr, "rank %d of %d: %s of %d %s: element %zu has other bits\n", expect_rank,
                expect_size, doing, buffer->length, kind->name, at / extent);
    free(content);
    free(expected);
}

static void drop(buffer_t buffer)
{
    memory_give(buffer.memory, buffer.at);
}

/* ---- the reductions ---- */

static void test_allreduce(int length)
{
    buffer_t in = operand(length), out = operand(length);
    MPI_Request request;
    doing = "MPI_Allreduce";
    MPI_Allreduce(in.at, out.at, length, kind->type, *kind->op, MPI_COMM_WORLD);
    expect_fold(&out, expect_size - 1, 0, length);
    doing = "MPI_Iallreduce in place";
    MPI_Iallreduce(MPI_IN_PLACE, in.at, length, kind->type, *kind->op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_fold(&in, expect_size - 1, 0, length);
    drop(in);
    drop(out);
}

static void test_reduce(int length, int root)
{
    buffer_t in = operand(length), out = operand(length);
    bool is_root = expect_rank == root;
    doing = "MPI_Reduce";
    MPI_Reduce(in.at, out.at, length, kind->type, *kind->op, root, MPI_COMM_WORLD);
    if (is_root)
        expect_fold(&out, expect_size - 1, 0, length);
    doing = "MPI_Reduce in place";
    MPI_Reduce(is_root ? MPI_IN_PLACE : in.at, in.at, length, kind->type, *kind->op, root,
               MPI_COMM_WORLD);
    if (is_root)
        expect_fold(&in, expect_size - 1, 0, length);
    drop(in);
    drop(out);
}

/* Rank r gets r % 3 thirds of `length` elements. */
static void test_reduce_scatter(int length)
{
    int *counts = malloc((size_t)expect_size * sizeof(int)), first = 0, total = 0;
    for (int i = 0; i < expect_size; i++) {
        counts[i] = length / 3 * (i % 3);
        first += i < expect_rank ? counts[i] : 0;
        total += counts[i];
    }
    buffer_t in = operand(total), out = operand(length);
    doing = "MPI_Reduce_scatter";
    MPI_Reduce_scatter(in.at, out.at, counts, kind->type, *kind->op, MPI_COMM_WORLD);
    expect_fold(&out, expect_size - 1, first, counts[expect_rank]);
    drop(in);
    in = operand(length * expect_size);
    doing = "MPI_Reduce_scatter_block";
    MPI_Reduce_scatter_block(in.at, out.at, length, kind->type, *kind->op, MPI_COMM_WORLD);
    expect_fold(&out, expect_size - 1, length * expect_rank, length);
    drop(in);
    drop(out);
    free(counts);
}

static void test_scan(int length)
{
    buffer_t in = operand(length), out = operand(length);
    doing = "MPI_Scan";
    MPI_Scan(in.at, out.at, length, kind->type, *kind->op, MPI_COMM_WORLD);
    expect_fold(&out, expect_rank, 0, length);
    doing = "MPI_Exscan";
    MPI_Exscan(in.at, out.at, length, kind->type, *kind->op, MPI_COMM_WORLD);
    if (expect_rank > 0)
        expect_fold(&out, expect_rank - 1, 0, length);
    doing = "MPI_Exscan in place";
    MPI_Exscan(MPI_IN_PLACE, in.at, length, kind->type, *kind->op, MPI_COMM_WORLD);
    if (expect_rank > 0)
        expect_fold(&in, expect_rank - 1, 0, length);
    drop(in);
    drop(out);
}

/* All ranks but the last are one group, the last is the other, which gets their result. */
static void test_between_groups(int length, MPI_Comm inter)
{
    buffer_t in = operand(length), out = operand(length);
    doing = "MPI_Allreduce between groups";
    MPI_Allreduce(in.at, out.at, length, kind->type, *kind->op, inter);
    if (expect_rank == expect_size - 1)
        expect_fold(&out, expect_size - 2, 0, length);
    drop(in);
    drop(out);
}

static MPI_Comm make_groups(void)
{
    MPI_Comm group, inter;
    int last = expect_size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank == last, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, expect_rank == last ? 0 : last, 1, &inter);
    MPI_Comm_free(&group);
    return inter;
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 12, 1500, 21000};
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    MPI_Op_create(mix_doubles, 0, &mix);
    if (expect_size > 1)
        inter = make_groups();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) * 4; i++) {
        MPI_Count bytes;
        int length = lengths[i % 4];
        kind = &kinds[i / 4];
        MPI_Type_size_c(kind->type, &bytes);
        extent = (size_t)bytes;
        test_allreduce(length);
        test_reduce(length, 0);
        test_reduce(length, expect_size - 1);
        test_reduce_scatter(length < 3000 ? length : 3000);
        test_scan(length);
        if (expect_size > 1)
            test_between_groups(length, inter);
    }
    MPI_Op_free(&mix);
    if (expect_size > 1)
        MPI_Comm_free(&inter);
    return expect_end();
}
