/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory by CUDA's driver: the back end of runtime/device.h. */
#ifndef WEFT_CUDA_CUDA_H
#define WEFT_CUDA_CUDA_H

/** What the info key mpi_memory_alloc_kinds says of it (MPI 5.0, section 11.4.3). */
extern const char weft_cuda_memory_kinds[];

/** Put the table in its place and begin to watch for the driver. */
void weft_cuda_open(void);

/** Its opposite: no work is on its way. */
void weft_cuda_close(void);

#endif
