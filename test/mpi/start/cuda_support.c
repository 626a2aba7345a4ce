/* SPDX-License-Identifier: BSD-3-Clause */
/* The queries of programs before they pass device pointers, before MPI_Init and after it; they obey
 * WEFT_DEVICE=no. */
#include "expect.h"

#include <mpi-ext.h>
#include <stdlib.h>

#if !defined(MPIX_CUDA_AWARE_SUPPORT) || !MPIX_CUDA_AWARE_SUPPORT
#error "mpi-ext.h does not say that device pointers are taken"
#endif

int main(int argc, char **argv)
{
    const char *wanted = getenv("WEFT_DEVICE");
    int expected = wanted == NULL || strcmp(wanted, "no") != 0;
    EXPECT(MPIX_Query_cuda_support(), expected);
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT(MPIX_Query_cuda_support(), expected);
    return expect_end();
}
