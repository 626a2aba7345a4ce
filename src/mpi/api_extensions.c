/* SPDX-License-Identifier: BSD-3-Clause */
/* The function of mpix.h about CUDA support. */
#include "mpi/api.h"

#include "base/config.h"

#include <string.h>

/** Returns 1 if MPI calls take CUDA device memory, and 0 if WEFT_DEVICE=no switches that off
 *  (mpix.h). May be called at any time, before MPI_Init and after MPI_Finalize too.
 *  @note Whether the machine has a GPU makes no difference. */
WEFT_API(MPIX_Query_cuda_support);
/* Reads the configuration, since it may be called before MPI_Init. */
int PMPIX_Query_cuda_support(void)
{
    weft_config_read();
    return strcmp(weft_config.DEVICE, "no") != 0;
}
