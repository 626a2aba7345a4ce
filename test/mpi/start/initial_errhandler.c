/* SPDX-License-Identifier: BSD-3-Clause */
/* The initial error handler (MPI 5.0, section 9.3), here MPI_ERRORS_RETURN by the environment,
 * holds for MPI_COMM_WORLD and MPI_COMM_SELF, for objects made from them, and for errors outside of
 * MPI. */
#include "../expect.h"

static int number;

static MPI_Errhandler handler_of(MPI_Comm comm)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &handler);
    return handler;
}

int main(int argc, char **argv)
{
    MPI_Comm copy;
    EXPECT(MPI_Info_get_nkeys(MPI_INFO_NULL, &number) != MPI_SUCCESS, 1);
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT(handler_of(MPI_COMM_WORLD) == MPI_ERRORS_RETURN, 1);
    EXPECT(handler_of(MPI_COMM_SELF) == MPI_ERRORS_RETURN, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    EXPECT_ERROR(MPI_Send(NULL, -1, MPI_INT, 0, 0, copy), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Comm_rank(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Finalize();
    EXPECT(MPI_Info_get_nkeys(MPI_INFO_NULL, &number) != MPI_SUCCESS, 1);
    EXPECT(MPI_Init(&argc, &argv) != MPI_SUCCESS, 1);
    return expect_failures != 0;
}
