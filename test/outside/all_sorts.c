/* SPDX-License-Identifier: BSD-3-Clause */
/* A few calls of every chapter, for any library of the MPI 5.0 ABI and any launcher. Rank 0 prints
 * the library's name and the number of ranks; nothing else is printed unless something is wrong. */
#include "../mpi/expect.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static int rank, size, right, left;

/* ---- point to point ---- */

static void test_messages(void)
{
    int64_t in = -1, out = 1000 + rank;
    int count = -1;
    MPI_Status status;
    MPI_Sendrecv(&out, 1, MPI_INT64_T, right, 7, &in, 1, MPI_INT64_T, left, 7, MPI_COMM_WORLD,
                 &status);
    EXPECT(in, 1000 + left);
    EXPECT(status.MPI_SOURCE, left);
    EXPECT(status.MPI_TAG, 7);
    MPI_Get_count(&status, MPI_INT64_T, &count);
    EXPECT(count, 1);
    MPI_Get_elements(&status, MPI_INT64_T, &count);
    EXPECT(count, 1);
    MPI_Recv(&in, 1, MPI_INT64_T, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT(status.MPI_TAG, MPI_ANY_TAG);
}

static void test_requests(void)
{
    enum { BYTES = 300000 };
    static char in[2][BYTES], out[2][BYTES];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Count count;
    for (int i = 0; i < 2; i++) {
        memset(out[i], rank + 10 * i, BYTES);
        MPI_Irecv_c(in[i], BYTES, MPI_CHAR, left, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(out[i], BYTES / (i + 1), MPI_CHAR, right, i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 2; i++) {
        MPI_Get_count_c(&statuses[i], MPI_CHAR, &count);
        EXPECT(count, BYTES / (i + 1));
        EXPECT(in[i][count - 1], left + 10 * i);
        EXPECT(requests[i] == MPI_REQUEST_NULL, 1);
    }
}

static void test_persistent(void)
{
    int in = -1, out = rank, flag = 0;
    MPI_Request both[2];
    MPI_Send_init(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &both[0]);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &both[1]);
    for (int i = 0; i < 3; i++) {
        out = rank + i;
        MPI_Startall(2, both);
        while (!flag)
            MPI_Testall(2, both, &flag, MPI_STATUSES_IGNORE);
        flag = 0;
        EXPECT(in, left + i);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

static void test_probe(void)
{
    int out[3] = {rank, 1, 2}, in[3] = {-1}, count;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(out, 3, MPI_INT, right, 9, MPI_COMM_WORLD, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count, 3);
    MPI_Mrecv(in, 3, MPI_INT, &message, &status);
    EXPECT(in[0], left);
    EXPECT(message == MPI_MESSAGE_NULL, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- datatypes ---- */

typedef struct cell {
    double weight;
    char letter;
    short numbers[3];
} cell_t;

static MPI_Datatype cell_type(void)
{
    int counts[] = {1, 1, 3};
    MPI_Aint places[] = {offsetof(cell_t, weight), offsetof(cell_t, letter),
                         offsetof(cell_t, numbers)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR, MPI_SHORT}, packed, type;
    MPI_Type_create_struct(3, counts, places, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(cell_t), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&packed);
    return type;
}

static void test_structs(void)
{
    cell_t in[4] = {{0}}, out[4] = {{0}};
    MPI_Datatype type = cell_type();
    MPI_Aint lb, extent;
    int bytes;
    for (int i = 0; i < 4; i++)
        out[i] = (cell_t){rank + 0.5, (char)('a' + i), {(short)rank, (short)i, -1}};
    MPI_Sendrecv(out, 4, type, right, 0, in, 4, type, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in[3].letter, 'd');
    EXPECT(in[3].numbers[0], left);
    EXPECT(in[2].weight == left + 0.5, 1);
    MPI_Type_size(type, &bytes);
    EXPECT(bytes, 15);
    MPI_Type_get_extent(type, &lb, &extent);
    EXPECT(extent, sizeof(cell_t));
    MPI_Type_free(&type);
    EXPECT(type == MPI_DATATYPE_NULL, 1);
}

static void test_vectors(void)
{
    int matrix[5][4], column[5] = {0}, position = 0, numbers, addresses, types, combiner;
    char packed[100];
    MPI_Datatype type;
    for (int i = 0; i < 20; i++)
        matrix[i / 4][i % 4] = i;
    MPI_Type_vector(5, 1, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(&matrix[0][2], 1, type, rank, 0, column, 5, MPI_INT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(column[4], 18);
    MPI_Pack(&matrix[0][1], 1, type, packed, 100, &position, MPI_COMM_WORLD);
    EXPECT(position, 20);
    position = 0;
    MPI_Unpack(packed, 100, &position, column, 5, MPI_INT, MPI_COMM_WORLD);
    EXPECT(column[3], 13);
    MPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner);
    EXPECT(combiner, MPI_COMBINER_VECTOR);
    MPI_Type_free(&type);
}

/* ---- collectives ---- */

/* The composition of affine maps modulo a prime: associative, not commutative. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const long *a = in;
    long *b = inout;
    (void)type;
    for (int i = 0; i < *count; i++, a += 2, b += 2) {
        b[1] = (a[1] * b[0] + b[1]) % 9973;
        b[0] = a[0] * b[0] % 9973;
    }
}

static void test_user_op(void)
{
    long mine[2] = {2 + rank, 3 * rank + 1}, all[2], scale = 1, shift = 0;
    MPI_Datatype pair;
    MPI_Op op;
    int commutes;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    MPI_Op_commutative(op, &commutes);
    EXPECT(commutes, 0);
    MPI_Allreduce(mine, all, 1, pair, op, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        shift = (shift * (2 + i) + 3 * i + 1) % 9973;
        scale = scale * (2 + i) % 9973;
    }
    EXPECT(all[0], scale);
    EXPECT(all[1], shift);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

static void test_collectives(void)
{
    double half = rank == 0 ? 0.5 : 0;
    int sum = 0, *all = malloc((size_t)size * sizeof(int)), prefix = -1;
    struct {
        double value;
        int where;
    } best = {-rank, rank};
    MPI_Request request;
    MPI_Bcast(&half, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    EXPECT(half == 0.5, 1);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum, size * (size - 1) / 2);
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    EXPECT(best.where, size - 1);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    EXPECT(all[size - 1], size - 1);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    EXPECT(all[size - 1], rank);
    MPI_Scan(&rank, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(prefix, rank * (rank + 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
}

static void test_gatherv(void)
{
    int *counts = malloc((size_t)size * sizeof(int)), *places = malloc((size_t)size * sizeof(int));
    int total = size * (size + 1) / 2, *all = malloc((size_t)total * sizeof(int));
    int *mine = malloc((size_t)(rank + 1) * sizeof(int));
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        places[i] = i * (i + 1) / 2;
    }
    for (int i = 0; i <= rank; i++)
        mine[i] = rank;
    MPI_Gatherv(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1)
        EXPECT(all[total - 1], size - 1);
    free(counts);
    free(places);
    free(all);
    free(mine);
}

/* ---- communicators, attributes, errors, info ---- */

static void test_split(void)
{
    MPI_Comm half;
    MPI_Group all, mine;
    int members, sum = 1, translated, zero = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_size(half, &members);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, half);
    EXPECT(sum, members);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(half, &mine);
    MPI_Group_translate_ranks(mine, 1, &zero, all, &translated);
    EXPECT(translated % 2, rank % 2);
    EXPECT(translated + 2 >= size, 1);
    MPI_Group_free(&all);
    MPI_Group_free(&mine);
    MPI_Comm_free(&half);
    EXPECT(half == MPI_COMM_NULL, 1);
}

static int deleted;

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value;
    deleted += *(int *)extra;
    return MPI_SUCCESS;
}

static void test_attributes(void)
{
    int keyval, step = 10, is_set = 0, *tag_ub, value = 5, *got = NULL;
    MPI_Comm copy, second;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_delete, &keyval, &step);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_attr(copy, keyval, &value);
    MPI_Comm_dup(copy, &second);
    MPI_Comm_get_attr(second, keyval, &got, &is_set);
    EXPECT(is_set, 1);
    EXPECT(got == &value, 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&second);
    EXPECT(deleted, 20);
    MPI_Comm_free_keyval(&keyval);
    EXPECT(keyval, MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &is_set);
    EXPECT(is_set && *tag_ub >= 32767, 1);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = *code;
}

static void test_errors(void)
{
    MPI_Errhandler own;
    MPI_Comm copy;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Send(&rank, 1, MPI_INT, size, 0, copy), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Send(&rank, -1, MPI_INT, 0, 0, copy), MPI_ERR_COUNT);
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(copy, own);
    MPI_Errhandler_free(&own);
    MPI_Send(&rank, 1, MPI_INT, 0, -5,
             copy); /* MPICH returns MPI_SUCCESS once a handler was called */
    EXPECT(expect_class(handled), MPI_ERR_TAG);
    MPI_Error_string(handled, text, &length);
    EXPECT(length > 0 && length == (int)strlen(text), 1);
    MPI_Comm_free(&copy);
}

static void test_info(void)
{
    MPI_Info info;
    char value[20] = "";
    int flag = 0, length = sizeof(value), keys;
    MPI_Info_create(&info);
    MPI_Info_set(info, "colour", "blue");
    MPI_Info_get_string(info, "colour", &length, value, &flag);
    EXPECT(flag, 1);
    EXPECT_TEXT(value, "blue");
    EXPECT(length, 5);
    MPI_Info_get_nkeys(info, &keys);
    EXPECT(keys, 1);
    MPI_Info_free(&info);
}

/* ---- the ABI itself ---- */

static void test_abi(void)
{
    int major = 0, minor = -1, version = 0, subversion = -1;
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Abi_get_version(&major, &minor);
    EXPECT(major, MPI_ABI_VERSION);
    EXPECT(minor >= MPI_ABI_SUBVERSION, 1);
    MPI_Get_version(&version, &subversion);
    EXPECT(version >= 5, 1);
    EXPECT(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD, 1);
    EXPECT(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE, 1);
    MPI_Get_library_version(name, &version);
    if (rank == 0)
        printf("%s on %d ranks\n",
               strstr(name, "Weft")    ? "Weft"
               : strstr(name, "MPICH") ? "MPICH"
                                       : name,
               size);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    test_messages();
    test_requests();
    test_persistent();
    test_probe();
    test_structs();
    test_vectors();
    test_user_op();
    test_collectives();
    test_gatherv();
    test_split();
    test_attributes();
    test_errors();
    test_info();
    test_abi();
    return expect_end();
}
