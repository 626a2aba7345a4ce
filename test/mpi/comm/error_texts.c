/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Error_string of a code that a call has returned says which function has failed, and why. */
#include "../expect.h"

#include <pthread.h>

static char class_text[MPI_ERR_LASTCODE][MPI_MAX_ERROR_STRING]; /* before anything has failed */

static void read_class_texts(void)
{
    int length;
    for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; code++)
        MPI_Error_string(code, class_text[code], &length);
}

/* The text of `code` begins with `function`, and `word` is in it. */
#define EXPECT_IN(code, function, word) expect_in(code, function, word, __LINE__)

static void expect_in(int code, const char *function, const char *word, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = -1;
    MPI_Error_string(code, text, &length);
    expect_equal(length, (long long)strlen(text), "the length of the text", __FILE__, line);
    if (strncmp(text, function, strlen(function)) != 0)
        expect_same_text(text, function, "the function of the text", __FILE__, line);
    if (strstr(text, word) == NULL)
        expect_same_text(text, word, "the text", __FILE__, line);
}

#define EXPECT_CLASS_TEXT(code) expect_class_text(code, __LINE__)

static void expect_class_text(int code, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = -1;
    MPI_Error_string(code, text, &length);
    expect_same_text(text, class_text[code], "the text", __FILE__, line);
    expect_equal(length, (long long)strlen(text), "the length of the text", __FILE__, line);
}

static void test_returned(void)
{
    int buffer = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(&buffer, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
    EXPECT(code, MPI_ERR_RANK);
    EXPECT_IN(code, "MPI_Send: ", "12345");
    EXPECT_CLASS_TEXT(MPI_ERR_TAG);
    EXPECT_CLASS_TEXT(MPI_SUCCESS);
    code = MPI_Recv(&buffer, 1, MPI_INT, MPI_PROC_NULL, -77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(code, MPI_ERR_TAG);
    EXPECT_IN(code, "MPI_Recv: ", "-77");
    EXPECT_CLASS_TEXT(MPI_ERR_RANK);
    MPI_Barrier(MPI_COMM_WORLD); /* what succeeds returns no code */
    EXPECT_IN(code, "MPI_Recv: ", "-77");
    EXPECT(MPI_Error_string(-1, NULL, &buffer), MPI_ERR_ARG);
}

/* ---- statuses ---- */

static const int lengths[] = {11, 22, 33};

/* The receives of requests 0 and 2 are too short. */
static void begin_truncations(int buffer[3], MPI_Request requests[3])
{
    static const int data[33];
    for (int i = 0; i < 3; i++)
        MPI_Irecv(i == 1 ? buffer : &buffer[i], i == 1 ? 33 : 1, MPI_INT, 0, i, MPI_COMM_SELF,
                  &requests[i]);
    for (int i = 0; i < 3; i++)
        MPI_Send(data, lengths[i], MPI_INT, 0, i, MPI_COMM_SELF);
}

static int fail_query(void *code, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, 0);
    return *(int *)code;
}

static int free_nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *state, int is_complete)
{
    (void)state, (void)is_complete;
    return MPI_SUCCESS;
}

static void begin_generalised(int *code, MPI_Request *request)
{
    MPI_Grequest_start(fail_query, free_nothing, cancel_nothing, code, request);
    MPI_Grequest_complete(*request);
}

static void test_statuses(void)
{
    int buffer[40], code = MPI_ERR_DIMS, flag;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    begin_truncations(buffer, requests);
    begin_generalised(&code, &requests[3]);
    EXPECT(MPI_Request_get_status_all(4, requests, &flag, statuses), MPI_ERR_IN_STATUS);
    EXPECT(statuses[3].MPI_ERROR, MPI_ERR_DIMS);
    EXPECT_IN(MPI_ERR_DIMS, "MPI_Request_get_status_all: ", class_text[MPI_ERR_DIMS]);
    EXPECT(MPI_Waitall(4, requests, statuses), MPI_ERR_IN_STATUS);
    EXPECT(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT(statuses[3].MPI_ERROR, MPI_ERR_DIMS);
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Waitall: ", "44"); /* bytes of the first */
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Waitall: ", "(and 1 more)");
    EXPECT_IN(MPI_ERR_DIMS, "MPI_Waitall: ", class_text[MPI_ERR_DIMS]);
    EXPECT_IN(MPI_ERR_IN_STATUS, "MPI_Waitall: ", "");
    begin_truncations(buffer, requests);
    EXPECT(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Waitall: ", "(and 1 more)");
    EXPECT_CLASS_TEXT(MPI_ERR_DIMS); /* of the call before */
    begin_truncations(buffer, requests);
    EXPECT(MPI_Wait(&requests[2], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Wait: ", "132");
    EXPECT_CLASS_TEXT(MPI_ERR_IN_STATUS);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* ---- receives that are parts of a call ---- */

static void test_parts(void)
{
    int out[] = {1, 2, 3, 4, 5, 6}, in[6];
    MPI_Request request;
    MPI_Isendrecv(out, 6, MPI_INT, 0, 7, in, 4, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Wait: ", "from rank 0 with tag 7 has 24 bytes");
    EXPECT_IN(MPI_ERR_TRUNCATE, "MPI_Wait: ", "holds 16");
    if (expect_size == 1)
        return;
    /* Rank 1 hears from the root itself, whatever the algorithm. */
    MPI_Ibcast(out, expect_rank == 1 ? 4 : 6, MPI_INT, 0, MPI_COMM_WORLD, &request);
    int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(code, expect_rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    if (expect_rank == 1) {
        EXPECT_IN(code, "MPI_Wait: ", "from rank 0");
        EXPECT_IN(code, "MPI_Wait: ", "has 24 bytes, but the receive buffer holds 16");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- error handlers of the program ---- */

static char handler_text[MPI_MAX_ERROR_STRING];
static int handler_depth;

static void note(MPI_Comm *comm, int *code, ...)
{
    int length, size;
    if (handler_depth > 0)
        return;
    handler_depth++;
    MPI_Comm_size(*comm, &size);
    MPI_Error_string(*code, handler_text, &length);
    EXPECT(MPI_Comm_size(*comm, NULL), MPI_ERR_ARG);
    EXPECT_IN(MPI_ERR_ARG, "MPI_Comm_size: ", "");
    handler_depth--;
}

static void note_session(MPI_Session *session, int *code, ...)
{
    int length;
    (void)session;
    MPI_Error_string(*code, handler_text, &length);
}

#define EXPECT_NOTED(word)                                                                         \
    if (strstr(handler_text, word) == NULL)                                                        \
    EXPECT_TEXT(handler_text, word)

static void test_handler(void)
{
    MPI_Errhandler own;
    MPI_Comm comm;
    int buffer = 0;
    MPI_Comm_create_errhandler(note, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, own);
    EXPECT(MPI_Send(&buffer, 1, MPI_INT, 23456, 0, comm), MPI_ERR_RANK);
    EXPECT_NOTED("23456");
    EXPECT_IN(MPI_ERR_RANK, "MPI_Send: ", "23456"); /* not what failed in the handler */
    EXPECT_CLASS_TEXT(MPI_ERR_ARG);
    handler_text[0] = '\0';
    MPI_Comm_call_errhandler(comm, MPI_ERR_RANK); /* as a wrapper does that has seen the code */
    EXPECT_NOTED("23456");
    MPI_Comm_call_errhandler(comm, MPI_ERR_OP);
    EXPECT_TEXT(handler_text, class_text[MPI_ERR_OP]);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&comm);
}

static void test_session(void)
{
    MPI_Errhandler own;
    MPI_Session session;
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof(name);
    MPI_Session_create_errhandler(note_session, &own);
    MPI_Session_init(MPI_INFO_NULL, own, &session);
    int code = MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 54321, &length, name);
    EXPECT(code, MPI_ERR_ARG);
    EXPECT_NOTED("54321");
    EXPECT_IN(code, "MPI_Session_get_nth_pset: ", "54321");
    MPI_Errhandler_free(&own);
    MPI_Session_finalize(&session);
}

/* ---- the program's codes; threads ---- */

static void test_own_code(void)
{
    MPI_Request request;
    int code, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_code(MPI_ERR_IO, &code);
    begin_generalised(&code, &request);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), code);
    MPI_Error_string(code, text, &length);
    EXPECT_TEXT(text, "");
    EXPECT(length, 0);
    MPI_Add_error_string(code, "the cat sleeps");
    begin_generalised(&code, &request);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), code);
    MPI_Error_string(code, text, &length);
    EXPECT_TEXT(text, "the cat sleeps");
    MPI_Remove_error_string(code);
    MPI_Error_string(code, text, &length);
    EXPECT_TEXT(text, "");
    MPI_Remove_error_code(code);
}

static void *look_from_thread(void *unused)
{
    (void)unused;
    EXPECT_CLASS_TEXT(MPI_ERR_RANK);
    int code = MPI_Comm_test_inter(MPI_COMM_NULL, NULL);
    EXPECT_IN(code, "MPI_Comm_test_inter: ", "");
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread;
    int buffer = 0;
    EXPECT(MPI_Send(&buffer, 1, MPI_INT, 34567, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    pthread_create(&thread, NULL, look_from_thread, NULL);
    pthread_join(thread, NULL);
    EXPECT_IN(MPI_ERR_RANK, "MPI_Send: ", "34567");
}

int main(void)
{
    int provided;
    read_class_texts();
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    expect_begin();
    test_returned();
    test_statuses();
    test_parts();
    test_handler();
    test_session();
    test_own_code();
    test_threads();
    return expect_end();
}
