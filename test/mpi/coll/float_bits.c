/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of floating-point numbers whose rounding depends on the order: all ranks get the same bits,
 * in every run of the same call (MPI 5.0, advice to implementors of section 6.9.1).
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdlib.h>
#include <string.h>

static unsigned seed;

/* Numbers of very different sizes. */
static double random_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    double number = (double)(int)seed / 3;
    return number * (seed >> 28 ? 1e-7 * (seed >> 28) : 1e9);
}

/* A buffer in the next kind of memory, and the same bytes in host memory. */
typedef struct buffer {
    char kind;
    size_t bytes;
    void *at, *content;
} buffer_t;

static buffer_t buffer_make(size_t bytes)
{
    buffer_t buffer = {.kind = memory_next_kind(), .bytes = bytes};
    buffer.at = memory_take(buffer.kind, bytes);
    buffer.content = malloc(bytes);
    return buffer;
}

static void buffer_free(buffer_t *buffer)
{
    memory_give(buffer->kind, buffer->at);
    free(buffer->content);
}

static void buffer_put(buffer_t *buffer, const void *content)
{
    memory_put(buffer->kind, buffer->at, content, buffer->bytes);
}

static void *buffer_get(buffer_t *buffer)
{
    memory_get(buffer->kind, buffer->content, buffer->at, buffer->bytes);
    return buffer->content;
}

static void fill(void *content, int length, MPI_Datatype type)
{
    for (int i = 0; i < length; i++) {
        if (type == MPI_DOUBLE)
            ((double *)content)[i] = random_number();
        else
            ((float *)content)[i] = (float)random_number();
    }
}

static void test_allreduce(int length, MPI_Datatype type, size_t element_bytes)
{
    size_t bytes = (size_t)length * element_bytes;
    buffer_t own = buffer_make(bytes), sum = buffer_make(bytes), again = buffer_make(bytes);
    void *theirs = malloc(bytes);
    fill(own.content, length, type);
    buffer_put(&own, own.content);
    MPI_Allreduce(own.at, sum.at, length, type, MPI_SUM, MPI_COMM_WORLD);
    memcpy(theirs, buffer_get(&sum), bytes);
    MPI_Bcast(theirs, length, type, 0, MPI_COMM_WORLD);
    EXPECT(memcmp(sum.content, theirs, bytes), 0);
    for (int repeat = 0; repeat < 5; repeat++) {
        MPI_Request request;
        buffer_put(&again, own.content);
        MPI_Iallreduce(MPI_IN_PLACE, again.at, length, type, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(memcmp(sum.content, buffer_get(&again), bytes), 0);
    }
    buffer_free(&own);
    buffer_free(&sum);
    buffer_free(&again);
    free(theirs);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 2, 7, 100, 511, 1500, 30000};
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    seed = (unsigned)expect_rank * 2654435761u + 1;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        test_allreduce(lengths[i], MPI_DOUBLE, sizeof(double));
        test_allreduce(lengths[i], MPI_FLOAT, sizeof(float));
    }
    return expect_end();
}
