/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's types of a given precision and range (MPI 5.0, section 19.1.5). */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "datatype/type.h"

static int create_f90(const char *name, const weft_f90_arguments_t *arguments,
                      MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin(name);
    weft_type_t *type = NULL;
    int err = weft_check_output(newtype, "newtype");
    if (err == MPI_SUCCESS)
        err = weft_type_f90(arguments, &type);
    if (err == MPI_SUCCESS)
        *newtype = weft_type_handle(type);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Type_create_f90_real);
int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_REAL, p, r};
    return create_f90("MPI_Type_create_f90_real", &arguments, newtype);
}

WEFT_API(MPI_Type_create_f90_complex);
int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_COMPLEX, p, r};
    return create_f90("MPI_Type_create_f90_complex", &arguments, newtype);
}

WEFT_API(MPI_Type_create_f90_integer);
int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_INTEGER, MPI_UNDEFINED, r};
    return create_f90("MPI_Type_create_f90_integer", &arguments, newtype);
}
