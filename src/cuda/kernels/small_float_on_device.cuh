/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions of floats of 16 and 8 bits by instructions where the device has them; the others are
 * those of small_float.h. */
#ifndef WEFT_CUDA_KERNELS_SMALL_FLOAT_ON_DEVICE_CUH
#define WEFT_CUDA_KERNELS_SMALL_FLOAT_ON_DEVICE_CUH

#include "cuda/kernels/kernel.cuh"
#include "datatype/small_float.h"

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

/* Devices before sm_90 have no instruction from BF16, those before sm_80 none to it. Those for E4M3
 * and E5M2 need sm_89 and saturate. The kernels are limited by memory bandwidth, so the code of
 * small_float.h is fast enough. */
#define BY_ARITHMETIC(name, ctype)                                                                 \
    WEFT_DEVICE float weft_device_float_of_##name(ctype item)                                      \
    {                                                                                              \
        return weft_float_of_##name(item);                                                         \
    }                                                                                              \
    WEFT_DEVICE ctype weft_device_##name##_of_float(float value)                                   \
    {                                                                                              \
        return weft_##name##_of_float(value);                                                      \
    }
BY_ARITHMETIC(BF16, uint16_t)
BY_ARITHMETIC(E4M3, uint8_t)
BY_ARITHMETIC(E5M2, uint8_t)
#undef BY_ARITHMETIC

#endif
