/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory through CUDA's driver: the back end of runtime/device.h. */
#ifndef WEFT_CUDA_CUDA_H
#define WEFT_CUDA_CUDA_H

/** The value of the info key mpi_memory_alloc_kinds for this back end (MPI 5.0, section 11.4.3). */
extern const char weft_cuda_memory_kinds[];

/** Install the table of functions and begin to watch for the driver. */
void weft_cuda_open(void);

/** Undo weft_cuda_open(). No work may be under way. */
void weft_cuda_close(void);

#endif
