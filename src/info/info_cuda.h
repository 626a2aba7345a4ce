/* SPDX-License-Identifier: BSD-3-Clause */
/* weft_info --cuda: kernels, driver, devices, settings. */
#ifndef WEFT_INFO_INFO_CUDA_H
#define WEFT_INFO_INFO_CUDA_H

#include "info/info_format.h"

/** Print it. This loads the driver, which the library itself never does, and makes no context.
 * Where there is no driver or no device, a line says why. */
void weft_info_cuda(const weft_info_format_t *format);

#endif
