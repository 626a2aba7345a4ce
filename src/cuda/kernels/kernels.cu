/* SPDX-License-Identifier: BSD-3-Clause */
/* All kernels: one image for the library to load. */
#include "cuda/kernels/copy.cu"
#include "cuda/kernels/exchange.cu"
#include "cuda/kernels/move.cu"
#include "cuda/kernels/reduce.cu"
#include "cuda/kernels/multicast.cu"
