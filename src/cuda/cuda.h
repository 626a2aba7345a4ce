/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory by CUDA's driver: the back end of core/device.h. */
#ifndef WEFT_CUDA_CUDA_H
#define WEFT_CUDA_CUDA_H

/** Put the table in its place and begin to watch for the driver. */
void weft_cuda_open(void);

/** Its opposite: no work is on its way. */
void weft_cuda_close(void);

#endif
