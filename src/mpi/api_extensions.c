/* SPDX-License-Identifier: BSD-3-Clause */
/* What mpix.h declares. */
#include "mpi/api.h"

#include "base/config.h"

#include <string.h>

WEFT_API(MPIX_Query_cuda_support);
/* Also before MPI_Init, when nobody has read the configuration yet. */
int PMPIX_Query_cuda_support(void)
{
    weft_config_read();
    return strcmp(weft_config.DEVICE, "no") != 0;
}
