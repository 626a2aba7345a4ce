/* SPDX-License-Identifier: BSD-3-Clause */
/* The function of mpix.h about CUDA support. */
#include "mpi/api.h"

#include "base/config.h"

#include <string.h>

WEFT_API(MPIX_Query_cuda_support);
/* Reads the configuration, since it may be called before MPI_Init. */
int PMPIX_Query_cuda_support(void)
{
    weft_config_read();
    return strcmp(weft_config.DEVICE, "no") != 0;
}
