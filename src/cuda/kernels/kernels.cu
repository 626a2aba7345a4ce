/* SPDX-License-Identifier: BSD-3-Clause */
/* All kernels: one image for the library to load. */
#include "cuda/kernels/reduce.cu"
