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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_while_running();
    MPI_Finalize();
    return expect_failures != 0;
}
