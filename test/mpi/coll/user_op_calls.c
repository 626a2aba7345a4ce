/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's operation may call MPI functions that do not communicate, at every thread level. Its
 * operands are in host memory, wherever the buffers are. */
#include "../expect.h"
#include "memory_kinds.h"

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    int size, rank;
    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Type_size(*type, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(extent, sizeof(int));
    EXPECT(size, sizeof(int));
    EXPECT(rank, expect_rank);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((const int *)in)[i];
}

int main(int argc, char **argv)
{
    int provided, content[3];
    MPI_Op op;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    char in_kind = memory_next_kind(), out_kind = memory_next_kind();
    int *in = memory_take(in_kind, sizeof(content)), *out = memory_take(out_kind, sizeof(content));
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < 3; i++)
        content[i] = expect_rank + i;
    memory_put(in_kind, in, content, sizeof(content));
    MPI_Allreduce(in, out, 3, MPI_INT, op, MPI_COMM_WORLD);
    memory_get(out_kind, content, out, sizeof(content));
    for (int i = 0; i < 3; i++)
        EXPECT(content[i], expect_size * (expect_size - 1) / 2 + i * expect_size);
    MPI_Iscan(in, out, 3, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Op_free(&op); /* the operation exists until the request is over */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memory_get(out_kind, content, out, sizeof(content));
    EXPECT(content[0], expect_rank * (expect_rank + 1) / 2);
    memory_give(in_kind, in);
    memory_give(out_kind, out);
    return expect_end();
}
