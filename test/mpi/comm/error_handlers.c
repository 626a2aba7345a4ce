/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers, and error classes, codes and texts of the user. */
#include "../expect.h"

static int calls, last_code;
static MPI_Comm last_comm;

static void note(MPI_Comm *comm, int *code, ...)
{
    int size;
    MPI_Comm_size(*comm, &size); /* handlers may call MPI */
    calls++;
    last_code = *code;
    last_comm = *comm;
}

/* Errors that belong to no communicator. */
static void test_all_else(void)
{
    MPI_Errhandler own;
    int size;
    MPI_Comm_create_errhandler(note, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own); /* the only one that is set */
    calls = 0;
    EXPECT_ERROR(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    EXPECT(calls, 1);
    EXPECT(last_comm, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, own);
    EXPECT_ERROR(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    EXPECT(calls, 2);
    EXPECT(last_comm, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&own);
}

static void test_handlers(void)
{
    MPI_Errhandler own, got;
    MPI_Comm copy, child;
    int bad;
    MPI_Comm_create_errhandler(note, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_errhandler(copy, &got);
    EXPECT(got, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(copy, own);
    MPI_Comm_dup(copy, &child); /* inherits it */
    MPI_Comm_get_errhandler(child, &got);
    EXPECT(got, own);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&own);
    EXPECT(own, MPI_ERRHANDLER_NULL);
    calls = 0;
    EXPECT_ERROR(MPI_Send(&bad, 1, MPI_INT, 12345, 0, child), MPI_ERR_RANK);
    EXPECT(calls, 1);
    EXPECT(last_comm, child);
    EXPECT(MPI_Comm_call_errhandler(copy, MPI_ERR_DIMS), MPI_SUCCESS);
    EXPECT(calls, 2);
    EXPECT(last_code, MPI_ERR_DIMS);
    EXPECT(last_comm, copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    EXPECT(MPI_Comm_call_errhandler(copy, MPI_ERR_DIMS), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Comm_set_errhandler(copy, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    EXPECT(calls, 2);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&child);
}

/* A receive that will be truncated, on a communicator that the user has freed: only the request
 * keeps the communicator and its handler (which calls MPI) alive. */
static void begin_truncation(MPI_Comm *comm, int *one, MPI_Request requests[2])
{
    static const int two[2] = {1, 2};
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(note, &own);
    MPI_Comm_dup(MPI_COMM_SELF, comm);
    MPI_Comm_set_errhandler(*comm, own);
    MPI_Errhandler_free(&own);
    MPI_Irecv(one, 1, MPI_INT, 0, 1, *comm, &requests[0]);
    MPI_Isend(two, 2, MPI_INT, 0, 1, *comm, &requests[1]);
    calls = 0;
    MPI_Comm copy = *comm;
    MPI_Comm_free(&copy);
}

static void test_freed_comm(void)
{
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int one, count, flag, indices[2];
    for (int way = 0; way < 5; way++) {
        begin_truncation(&comm, &one, requests);
        if (way == 0)
            EXPECT_ERROR(MPI_Wait(&requests[0], statuses), MPI_ERR_TRUNCATE);
        else if (way == 1)
            EXPECT_ERROR(MPI_Test(&requests[0], &flag, statuses), MPI_ERR_TRUNCATE);
        else if (way == 2)
            EXPECT_ERROR(MPI_Waitany(2, requests, indices, statuses), MPI_ERR_TRUNCATE);
        else if (way == 3)
            EXPECT_ERROR(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
        else
            EXPECT_ERROR(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        EXPECT(calls, 1);
        EXPECT(last_comm, comm);
    }
}

static int last_used(void)
{
    int *value, is_set;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &is_set);
    return is_set ? *value : -1;
}

static void test_codes(void)
{
    int own_class, own_code, other_code, got, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&own_class);
    MPI_Add_error_code(own_class, &own_code);
    MPI_Add_error_code(MPI_ERR_IO, &other_code);
    EXPECT(own_class > MPI_ERR_LASTCODE, 1);
    EXPECT(last_used(), other_code);
    MPI_Error_class(own_code, &got);
    EXPECT(got, own_class);
    MPI_Error_class(other_code, &got);
    EXPECT(got, MPI_ERR_IO);
    MPI_Error_string(own_code, text, &length);
    EXPECT_TEXT(text, "");
    MPI_Add_error_string(own_code, "the cat sleeps");
    MPI_Error_string(own_code, text, &length);
    EXPECT_TEXT(text, "the cat sleeps");
    EXPECT(length, 14);
    EXPECT_ERROR(MPI_Remove_error_class(own_class), MPI_ERR_ARG); /* it has a code */
    EXPECT_ERROR(MPI_Remove_error_code(MPI_ERR_IO), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Add_error_string(MPI_ERR_IO, "no"), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Remove_error_code(own_code), MPI_ERR_ARG); /* it has a text */
    MPI_Remove_error_string(own_code);
    MPI_Remove_error_code(own_code);
    MPI_Remove_error_class(own_class);
    EXPECT(last_used(), other_code);
    EXPECT_ERROR(MPI_Error_class(own_code, &got), MPI_ERR_ARG);
    MPI_Remove_error_code(other_code);
    EXPECT(last_used(), MPI_ERR_LASTCODE);
}

static void test_texts(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, got;
    for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; code++) {
        length = 0;
        MPI_Error_string(code, text, &length);
        EXPECT(length > 0, 1);
        EXPECT(length, strlen(text));
        MPI_Error_class(code, &got);
        EXPECT(got, code);
    }
    EXPECT_ERROR(MPI_Error_string(-1, text, &length), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Error_string(MPI_ERR_ABI + 1, text, &length), MPI_ERR_ARG);
}

static void test_memory(void)
{
    MPI_Info info;
    char *memory;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536");
    MPI_Alloc_mem(1000, info, &memory);
    EXPECT((long long)memory % 65536, 0);
    memset(memory, 1, 1000);
    MPI_Free_mem(memory);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "3");
    EXPECT_ERROR(MPI_Alloc_mem(1000, info, &memory), MPI_ERR_INFO_VALUE);
    EXPECT_ERROR(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_ARG);
    MPI_Info_free(&info);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    expect_begin();
    test_all_else();
    test_handlers();
    test_freed_comm();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_codes();
    test_texts();
    test_memory();
    return expect_end();
}
