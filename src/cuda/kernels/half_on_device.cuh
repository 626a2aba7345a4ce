/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions of 16-bit floats by instructions where the device has them; the others are those of
 * half.h. */
#ifndef WEFT_CUDA_KERNELS_HALF_ON_DEVICE_CUH
#define WEFT_CUDA_KERNELS_HALF_ON_DEVICE_CUH

#include "cuda/kernels/kernel.cuh"
#include "datatype/half.h"

#ifdef WEFT_KERNELS_ON_HOST
WEFT_DEVICE float weft_device_float_of_F16(uint16_t half)
{
    return weft_float_of_F16(half);
}

WEFT_DEVICE uint16_t weft_device_F16_of_float(float value)
{
    return weft_F16_of_float(value);
}
#else
WEFT_DEVICE float weft_device_float_of_F16(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

WEFT_DEVICE uint16_t weft_device_F16_of_float(float value)
{
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#endif

/* Devices before sm_90 have no instruction for the first, those before sm_80 none for the second.
 * The kernels are limited by memory bandwidth, so half.h's code is fast enough. */
WEFT_DEVICE float weft_device_float_of_BF16(uint16_t half)
{
    return weft_float_of_BF16(half);
}

WEFT_DEVICE uint16_t weft_device_BF16_of_float(float value)
{
    return weft_BF16_of_float(value);
}

#endif
