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

/** The datatype of Fortran's reals with at least a given precision and range, as
 *  `selected_real_kind(p, r)` chooses them (section 19.1.5). It is committed and not to be freed;
 *  the same arguments give the same type.
 *  @error MPI_ERR_ARG  there is no such kind: p is not in 0 to 33 or r not in 0 to 4931, or both
 *      are MPI_UNDEFINED
 *  @note The kinds are those of gfortran and flang: 4, 8 and 16 bytes, and on x86 the one of 80
 *      bits. */
WEFT_API(MPI_Type_create_f90_real);
int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_REAL, p, r};
    return create_f90("MPI_Type_create_f90_real", &arguments, newtype);
}

/** The datatype of Fortran's complex numbers whose parts have at least a given precision and range
 *  (section 19.1.5). It is committed and not to be freed; the same arguments give the same type.
 *  @copydoc MPI_Type_create_f90_real */
WEFT_API(MPI_Type_create_f90_complex);
int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_COMPLEX, p, r};
    return create_f90("MPI_Type_create_f90_complex", &arguments, newtype);
}

/** The datatype of Fortran's integers with at least a given range, as `selected_int_kind(r)`
 *  chooses them (section 19.1.5). It is committed and not to be freed; the same argument gives the
 *  same type.
 *  @param[in] r  how many decimal digits every integer may have
 *  @error MPI_ERR_ARG  r is not in 0 to 38
 *  @note The kinds are those of gfortran and flang: 1, 2, 4, 8 and 16 bytes. */
WEFT_API(MPI_Type_create_f90_integer);
int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    weft_f90_arguments_t arguments = {MPI_COMBINER_F90_INTEGER, MPI_UNDEFINED, r};
    return create_f90("MPI_Type_create_f90_integer", &arguments, newtype);
}
