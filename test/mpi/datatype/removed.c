/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that was compiled with another header: it finds what MPI 3.0 removed in the library. */
#define WEFT_NO_REMOVED_NAMES
#include "../expect.h"

int MPI_Address(void *location, MPI_Aint *address);
int MPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[],
                    MPI_Datatype *type);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype old,
                      MPI_Datatype *type);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lb);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *ub);
int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);

static int handled;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    handled++;
}

/* From 8 on: the bounds that the three calls tell. */
static void check_bounds(MPI_Datatype *type, int bytes, MPI_Aint end)
{
    MPI_Aint lb = -1, ub = -1, extent = -1;
    int size;
    MPI_Type_size(*type, &size);
    EXPECT(size, bytes);
    EXPECT(MPI_Type_lb(*type, &lb), MPI_SUCCESS);
    EXPECT(MPI_Type_ub(*type, &ub), MPI_SUCCESS);
    EXPECT(MPI_Type_extent(*type, &extent), MPI_SUCCESS);
    EXPECT(ub, end);
    EXPECT(extent, end - lb);
    EXPECT_ERROR(MPI_Type_ub(*type, NULL), MPI_ERR_ARG);
    MPI_Type_free(type);
}

static void test_types(void)
{
    int lengths[] = {2, 1}, x;
    MPI_Aint places[] = {8, 24}, address, expected;
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, type;
    EXPECT(MPI_Address(&x, &address), MPI_SUCCESS);
    MPI_Get_address(&x, &expected);
    EXPECT(address, expected);
    EXPECT(MPI_Type_struct(2, lengths, places, types, &type), MPI_SUCCESS);
    check_bounds(&type, 16, 32);
    EXPECT(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type), MPI_SUCCESS);
    check_bounds(&type, 12, 28);
    EXPECT(MPI_Type_hvector(3, 2, 10, MPI_SHORT, &type), MPI_SUCCESS);
    check_bounds(&type, 12, 24);
}

static void test_handlers(void)
{
    MPI_Errhandler handler, got;
    EXPECT(MPI_Errhandler_create(note, &handler), MPI_SUCCESS);
    EXPECT(MPI_Errhandler_set(MPI_COMM_WORLD, handler), MPI_SUCCESS);
    EXPECT(MPI_Errhandler_get(MPI_COMM_WORLD, &got), MPI_SUCCESS);
    EXPECT(got == handler, 1);
    MPI_Errhandler_free(&got);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    EXPECT(handled, 1);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_types();
    test_handlers();
    return expect_end();
}
