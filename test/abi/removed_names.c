/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with names that MPI 3.0 removed. Every line with the comment "warns" must compile with
 * a warning; test/abi/header checks it. */
#include <mpi.h>

int uses_removed_names(int combiner);

int uses_removed_names(int combiner)
{
    int length = 1;
    MPI_Aint place = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Errhandler handler;
    MPI_Handler_function *function = 0; /* warns */

    if (combiner == MPI_COMBINER_HVECTOR_INTEGER) /* warns */
        return 1;
    if (combiner == MPI_COMBINER_HINDEXED_INTEGER) /* warns */
        return 2;
    if (combiner == MPI_COMBINER_STRUCT_INTEGER) /* warns */
        return 3;
    MPI_Address(&length, &place);                          /* warns */
    MPI_Type_struct(1, &length, &place, &type, &type);     /* warns */
    MPI_Type_hindexed(1, &length, &place, MPI_INT, &type); /* warns */
    MPI_Type_hvector(1, 1, place, MPI_INT, &type);         /* warns */
    MPI_Type_extent(type, &place);                         /* warns */
    MPI_Type_lb(type, &place);                             /* warns */
    MPI_Type_ub(type, &place);                             /* warns */
    MPI_Errhandler_create(function, &handler);             /* warns */
    MPI_Errhandler_get(MPI_COMM_WORLD, &handler);          /* warns */
    MPI_Errhandler_set(MPI_COMM_WORLD, handler);           /* warns */
    return (int)MPI_Comm_c2f(MPI_Comm_f2c((MPI_Fint)length));
}
