/* SPDX-License-Identifier: BSD-3-Clause */
/* All kernels in one compilation unit: the image that the library loads. */
#include "cuda/kernels/copy.cu"
#include "cuda/kernels/exchange.cu"
#include "cuda/kernels/move.cu"
#include "cuda/kernels/reduce.cu"
#include "cuda/kernels/multicast.cu"
#include "cuda/kernels/scale.cu"
