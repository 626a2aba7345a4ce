/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reductions that a switch can do: X(operation, machine type, bytes that an access takes,
 * instruction), by "multimem" in the PTX ISA. Integers are listed by width. Bitwise operations take
 * 8 bytes, whatever the type. Minima and maxima of 16-bit floats are left out, as the instruction
 * treats NaN differently than the processor.
 */
#ifndef WEFT_CUDA_KERNELS_MULTICAST_LIST_H
#define WEFT_CUDA_KERNELS_MULTICAST_LIST_H

#define WEFT_MULTICASTS(X)                                                                         \
    X(sum, U32, 4, "add.u32")                                                                      \
    X(sum, U64, 8, "add.u64")                                                                      \
    X(sum, F32, 16, "add.v4.f32")                                                                  \
    X(sum, F64, 8, "add.f64")                                                                      \
    X(sum, F16, 16, "add.acc::f32.v4.f16x2")                                                       \
    X(sum, BF16, 16, "add.acc::f32.v4.bf16x2")                                                     \
    X(min, U32, 4, "min.u32")                                                                      \
    X(min, I32, 4, "min.s32")                                                                      \
    X(min, U64, 8, "min.u64")                                                                      \
    X(min, I64, 8, "min.s64")                                                                      \
    X(max, U32, 4, "max.u32")                                                                      \
    X(max, I32, 4, "max.s32")                                                                      \
    X(max, U64, 8, "max.u64")                                                                      \
    X(max, I64, 8, "max.s64")                                                                      \
    X(band, U64, 8, "and.b64")                                                                     \
    X(bor, U64, 8, "or.b64")                                                                       \
    X(bxor, U64, 8, "xor.b64")

#endif
