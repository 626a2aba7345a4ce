/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_image.h"

const unsigned char weft_fatbin[1];
const size_t weft_fatbin_bytes;
