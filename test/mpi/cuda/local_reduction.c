/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce_local on memory of all kinds gives what it gives on host memory: operations with a
 * kernel and without one, those of the program on datatypes with gaps whose data begin before the
 * buffer or far behind it, and vectors of no and of many elements (these of a third of the pairs of
 * kinds, each of which is in some on either side).
 */
#include "device_memory.h"
#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST = 300001, LARGEST = 32, EDGE = 64 };

typedef struct vector {
    memory_t memory;
    unsigned char *host; /* what is there at first, and at last */
    size_t bytes;
} vector_t;

static unsigned char *filled(size_t bytes, int salt)
{
    unsigned char *memory = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((i * 7 + i / 253 + (size_t)salt * 31) % 5);
    return memory;
}

static vector_t take_vector(memory_kind_t kind, size_t bytes, int salt)
{
    vector_t vector = {memory_take(kind, bytes), filled(bytes, salt), bytes};
    memory_put(vector.memory.at, vector.host, bytes);
    return vector;
}

static void give_vector(vector_t *vector)
{
    memory_give(&vector->memory);
    free(vector->host);
}

static void *place(void *memory, MPI_Aint at)
{
    return (void *)((uintptr_t)memory + (uintptr_t)at);
}

/* The data begin at EDGE, and nothing in front of them or behind them is written. */
static void compare(memory_kind_t in_kind, memory_kind_t out_kind, int count, MPI_Datatype type,
                    MPI_Op op)
{
    MPI_Aint lower, extent, true_extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &lower, &true_extent);
    MPI_Aint at = EDGE - (lower > 0 ? lower : 0); /* may lie in front of the memory */
    size_t bytes = 2 * EDGE + (size_t)count * (size_t)extent;
    vector_t in = take_vector(in_kind, bytes, 1), out = take_vector(out_kind, bytes, 2);
    unsigned char *found = malloc(bytes);
    EXPECT(MPI_Reduce_local(place(in.memory.at, at), place(out.memory.at, at), count, type, op),
           MPI_SUCCESS);
    MPI_Reduce_local(place(in.host, at), place(out.host, at), count, type, op);
    memory_get(found, out.memory.at, bytes);
    EXPECT(memcmp(found, out.host, bytes), 0);
    memory_get(found, in.memory.at, bytes);
    EXPECT(memcmp(found, in.host, bytes), 0);
    free(found);
    give_vector(&in);
    give_vector(&out);
}

/* Two ints, the first of them 8 bytes in front of the element, 24 bytes apart. */
static MPI_Datatype apart(void)
{
    MPI_Datatype parts, type;
    MPI_Type_create_indexed_block(2, 1, (int[2]){-2, 1}, MPI_INT, &parts);
    MPI_Type_create_resized(parts, 0, 24, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&parts);
    return type;
}

/* An int a million bytes behind the buffer. */
static MPI_Datatype far_away(void)
{
    MPI_Datatype part, type;
    MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[1]){1000000}, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, 8, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&part);
    return type;
}

/* It does not commute, and calls MPI. */
static void subtract(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        int *a = (int *)((char *)in + i * extent), *b = (int *)((char *)inout + i * extent);
        b[-2] = a[-2] - b[-2];
        b[1] = a[1] - b[1];
    }
}

static void add_far(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        *(int *)place(inout, 1000000 + 8 * i) += *(int *)place(in, 1000000 + 8 * i);
}

static void test_kinds(memory_kind_t in, memory_kind_t out, bool has_long)
{
    static const int counts[] = {0, 1, 1000, MOST};
    MPI_Datatype type = apart(), far = far_away();
    MPI_Op op, far_op;
    MPI_Op_create(subtract, 0, &op);
    MPI_Op_create(add_far, 1, &far_op);
    for (int i = 0; i < 3 + has_long; i++) {
        compare(in, out, counts[i], MPI_INT, MPI_SUM);
        compare(in, out, counts[i], MPI_UNSIGNED_CHAR, MPI_BXOR);
        compare(in, out, counts[i], MPI_DOUBLE, MPI_MAX);
        compare(in, out, counts[i], MPI_2INT, MPI_MAXLOC);
        compare(in, out, counts[i], MPI_LONG_DOUBLE, MPI_MIN);
        compare(in, out, counts[i], type, op);
        compare(in, out, counts[i], far, far_op);
    }
    MPI_Op_free(&op);
    MPI_Op_free(&far_op);
    MPI_Type_free(&type);
    MPI_Type_free(&far);
}

static void test_errors(void)
{
    memory_t memory = memory_take(DEVICE, LARGEST);
    int number = 0;
    EXPECT_ERROR(MPI_Reduce_local(memory.at, &number, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    EXPECT_ERROR(MPI_Reduce_local(memory.at, &number, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Reduce_local(memory.at, NULL, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Reduce_local(MPI_IN_PLACE, memory.at, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    memory_give(&memory);
}

int main(int argc, char **argv)
{
    static const memory_kind_t kinds[] = {HOST, PINNED, DEVICE, MANAGED, POOL, VMM};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    for (int i = 0; i < KINDS; i++) {
        for (int j = 0; j < KINDS; j++)
            test_kinds(kinds[i], kinds[j], (i + j) % 3 == 0);
    }
    test_errors();
    memory_end();
    return expect_end();
}
