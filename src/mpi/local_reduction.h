/* SPDX-License-Identifier: BSD-3-Clause */
/* Two vectors of this process, combined where they lie: on the host or on a device. */
#ifndef WEFT_MPI_LOCAL_REDUCTION_H
#define WEFT_MPI_LOCAL_REDUCTION_H

#include "datatype/op.h"

/** inout = in op inout, `count` > 0 elements; what weft_op_check allows. */
typedef struct weft_local_reduction {
    const weft_op_t *op;
    const weft_type_t *type;
    const void *in;
    void *inout;
    size_t count;
} weft_local_reduction_t;

/** By a kernel, if both lie on one device that has one for it; else on the host, where copies stand
 * for memory that lies on a device. The user's functions are called without the lock.
 * MPI_ERR_NO_MEM, or the device's error. */
int weft_reduce_local(const weft_local_reduction_t *reduction);

#endif
