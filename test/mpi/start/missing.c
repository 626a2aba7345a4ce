/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are missing say which, at any time that the standard allows the call. */
#include "../expect.h"

/* Has the call failed, with the name of the function in the error's text? */
static void check_missing(int code, const char *function)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    EXPECT_ERROR(code, MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Error_string(code, text, &length);
    EXPECT(length, strlen(text));
    if (strstr(text, function) == NULL)
        EXPECT_TEXT(text, function);
}

/* What sessions consist of works without MPI_Init and after MPI_Finalize. */
static void test_sessions(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Comm comm;
    check_missing(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
    check_missing(
        MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
        "MPI_Comm_create_from_group");
}

static void test_while_running(void)
{
    MPI_Win window;
    int code, class;
    code = MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    check_missing(code, "MPI_Win_create");
    check_missing(MPI_Win_fence(0, MPI_WIN_NULL), "MPI_Win_fence");
    check_missing(code, "MPI_Win_create");
    EXPECT(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), code);
    EXPECT(code <= MPI_ERR_LASTCODE, 1);
    MPI_Error_class(code, &class);
    EXPECT(class, MPI_ERR_UNSUPPORTED_OPERATION);
}

static int handled, got;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    handled++;
    got = *error;
}

static void test_handler(void)
{
    MPI_Session session;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Session_init(MPI_INFO_NULL, handler, &session);
    EXPECT(handled, 1);
    check_missing(got, "MPI_Session_init");
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    test_sessions();
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_sessions();
    test_while_running();
    test_handler();
    MPI_Finalize();
    test_sessions();
    return expect_failures != 0;
}
