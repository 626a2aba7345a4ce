/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed copies within a process where one side or both may be device memory. They wait, with
 * progress, so they may be called from MPI calls, but not from functions that run in progress. */
#ifndef WEFT_PT2PT_DEVICE_COPY_H
#define WEFT_PT2PT_DEVICE_COPY_H

#include "datatype/pack.h"

/** As weft_copy_elements(), of any memory to any; stops where the shorter stream ends.
 * MPI_ERR_NO_MEM, or the device's error. */
int weft_copy_anywhere(const weft_elements_t *from, const weft_elements_t *to);

#endif
