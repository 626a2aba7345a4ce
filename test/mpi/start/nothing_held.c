/* SPDX-License-Identifier: BSD-3-Clause */
/* After MPI_Finalize the library holds no memory, whatever the program did before, if the program
 * has freed the objects that it made. */
#include "../held_memory.h"

enum { MESSAGES = 200, BYTES = 100000 };

static char sent[BYTES], got[BYTES];

/* Short and long messages, expected and unexpected. */
static void send_messages(MPI_Comm comm)
{
    int next = (expect_rank + 1) % expect_size,
        previous = (expect_rank + expect_size - 1) % expect_size;
    static MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(sent, i % 2 != 0 ? 8 : BYTES, MPI_CHAR, next, i, comm, &requests[i]);
    for (int i = MESSAGES - 1; i >= 0; i--)
        MPI_Recv(got, BYTES, MPI_CHAR, previous, i, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void send_buffered(MPI_Comm comm)
{
    int next = (expect_rank + 1) % expect_size;
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    MPI_Bsend(sent, 1000, MPI_CHAR, next, 1, comm);
    MPI_Recv(got, 1000, MPI_CHAR, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    void *buffer;
    int bytes;
    MPI_Comm_detach_buffer(comm, &buffer, &bytes);
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0); /* detached with the communicator */
}

static void use_collectives(MPI_Comm comm)
{
    for (int count = 1; count <= BYTES / 8; count *= 23) {
        MPI_Request request;
        MPI_Allreduce(sent, got, count, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Bcast(got, count, MPI_DOUBLE, 0, comm);
        MPI_Iallreduce(sent, got, count, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

static void use_types(MPI_Comm comm)
{
    MPI_Datatype pair, strided;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_vector(100, 1, 2, pair, &strided);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&strided);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(sent, got, 10, pair, op, comm);
    MPI_Bcast(got, 1, strided, 0, comm);
    MPI_Op_free(&op);
    MPI_Type_free(&strided);
    MPI_Type_free(&pair);
}

static void use_objects(MPI_Comm comm)
{
    int key;
    MPI_Info info;
    MPI_Group group, part;
    MPI_Comm half;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, sent);
    MPI_Comm_free_keyval(&key);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    MPI_Comm_set_name(comm, "a copy");
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, (int[]){0}, &part);
    MPI_Group_free(&part);
    MPI_Group_free(&group);
    MPI_Comm_split(comm, expect_rank % 2, 0, &half);
    MPI_Comm_free(&half);
}

static void check_memory(void)
{
    for (size_t slot = 0; slot < used; slot++) {
        if (blocks[slot].memory == NULL)
            continue;
        if (++expect_failures <= 10)
            fprintf(stderr, "rank %d of %d: %zu bytes are held that were taken before %p\n",
                    expect_rank, expect_size, blocks[slot].bytes, blocks[slot].caller);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    send_messages(copy);
    send_buffered(copy);
    use_collectives(copy);
    use_types(copy);
    use_objects(copy);
    MPI_Comm_free(&copy);
    use_collectives(MPI_COMM_WORLD);
    expect_end();
    check_memory();
    return expect_failures != 0;
}
