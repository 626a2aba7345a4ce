/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that MPI 3.0 removed. mpi.h has them inline, so that compilers can warn; these are for
 * programs that were compiled with another header of the ABI, and for scripts that look for
 * symbols. test/abi/removed.list has their names.
 */
#define WEFT_NO_REMOVED_NAMES
#include "mpi/api.h"

#pragma GCC visibility push(default)
int PMPI_Address(const void *location, MPI_Aint *address);
int PMPI_Type_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                     const MPI_Datatype types[], MPI_Datatype *newtype);
int PMPI_Type_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[],
                       MPI_Datatype oldtype, MPI_Datatype *newtype);
int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                      MPI_Datatype *newtype);
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent);
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement);
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement);
int PMPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler);
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
#pragma GCC visibility pop

/** Does what MPI_Get_address does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Get_address */
WEFT_API(MPI_Address);
int PMPI_Address(const void *location, MPI_Aint *address)
{
    return PMPI_Get_address(location, address);
}

/** Does what MPI_Type_create_struct does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Type_create_struct
 *  @param[in] blocklengths  how many elements each block has
 *  @param[in] displacements  where each block begins, in bytes; may be negative
 *  @param[in] types  the datatype of each block */
WEFT_API(MPI_Type_struct);
int PMPI_Type_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                     const MPI_Datatype types[], MPI_Datatype *newtype)
{
    return PMPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}

/** Does what MPI_Type_create_hindexed does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Type_create_hindexed
 *  @param[in] blocklengths  how many elements each block has
 *  @param[in] displacements  where each block begins, in bytes; may be negative */
WEFT_API(MPI_Type_hindexed);
int PMPI_Type_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[],
                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return PMPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

/** Does what MPI_Type_create_hvector does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Type_create_hvector */
WEFT_API(MPI_Type_hvector);
int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                      MPI_Datatype *newtype)
{
    return PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

/** The extent of a datatype, as MPI_Type_get_extent gives it; MPI 3.0 removed this name (chapter
 *  17).
 *  @copydoc MPI_Type_get_extent */
WEFT_API(MPI_Type_extent);
int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return PMPI_Type_get_extent(datatype, &lb, extent);
}

/** The lower bound of a datatype, as MPI_Type_get_extent gives it; MPI 3.0 removed this name
 *  (chapter 17).
 *  @param[out] displacement  the lower bound in bytes; may be negative
 *  @see MPI_Type_get_extent */
WEFT_API(MPI_Type_lb);
int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return PMPI_Type_get_extent(datatype, displacement, &extent);
}

/** The upper bound of a datatype: the sum of what MPI_Type_get_extent gives; MPI 3.0 removed this
 *  name (chapter 17).
 *  @param[out] displacement  the upper bound in bytes; may be negative
 *  @see MPI_Type_get_extent */
WEFT_API(MPI_Type_ub);
int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb;
    int err = PMPI_Type_get_extent(datatype, &lb, displacement);
    if (err == MPI_SUCCESS)
        *displacement += lb;
    return err;
}

/** Does what MPI_Comm_create_errhandler does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Comm_create_errhandler
 *  @param[in] function  called with the communicator and the error */
WEFT_API(MPI_Errhandler_create);
int PMPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_create_errhandler(function, errhandler);
}

/** Does what MPI_Comm_get_errhandler does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Comm_get_errhandler */
WEFT_API(MPI_Errhandler_get);
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_get_errhandler(comm, errhandler);
}

/** Does what MPI_Comm_set_errhandler does, under a name that MPI 3.0 removed (chapter 17).
 *  @copydoc MPI_Comm_set_errhandler */
WEFT_API(MPI_Errhandler_set);
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return PMPI_Comm_set_errhandler(comm, errhandler);
}
