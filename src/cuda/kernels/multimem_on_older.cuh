/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices without multicast: the kernels exist, but are never launched. */
#ifndef WEFT_CUDA_KERNELS_MULTIMEM_ON_OLDER_CUH
#define WEFT_CUDA_KERNELS_MULTIMEM_ON_OLDER_CUH

#include "cuda/kernels/kernel.cuh"

#define WEFT_REDUCED_LOAD_16(op, instruction)                                                      \
    static WEFT_DEVICE weft_vector_t load(const void *)                                            \
    {                                                                                              \
        __trap();                                                                                  \
        return weft_vector_t{};                                                                    \
    }
#define WEFT_REDUCED_LOAD_8(op, instruction) WEFT_REDUCED_LOAD_16(op, instruction)
#define WEFT_REDUCED_LOAD_4(op, instruction) WEFT_REDUCED_LOAD_16(op, instruction)

WEFT_DEVICE void weft_multicast_store(void *, const weft_vector_t &)
{
    __trap();
}

WEFT_DEVICE void weft_multicast_signal(void *, uint64_t)
{
    __trap();
}

WEFT_DEVICE void weft_multicast_see()
{
}

#endif
