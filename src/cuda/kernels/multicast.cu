/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel for all data that are only moved, and one for each reduction that a switch can do. On
 * the host these use the operations of reduce.cu, which must be included before. */
#include "cuda/kernels/multicast.cuh"
#include "cuda/kernels/multicast_list.h"

WEFT_BLOCK_KERNEL(weft_multicast_move, weft_multicast_args_t)
{
    weft_multicast<weft_movement_t>(args);
}

#define MULTICAST(op, name, width, instruction)                                                    \
    struct reduced_##op##_##name {                                                                 \
        WEFT_REDUCED_LOAD_##width(op##_##name, instruction)                                        \
    };                                                                                             \
    WEFT_BLOCK_KERNEL(weft_multicast_##op##_##name, weft_multicast_args_t)                         \
    {                                                                                              \
        weft_multicast<weft_reduction_t<reduced_##op##_##name>>(args);                             \
    }
WEFT_MULTICASTS(MULTICAST)
