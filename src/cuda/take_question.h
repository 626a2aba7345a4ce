/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the driver give memory while a stream waits? NVIDIA's guide allows it to wait for all
 * streams first; driver 580 does not (docs/device_verdicts.md). Where it does not, what peers offer
 * is mapped at once. What gives memory back waits on all drivers.
 */
#ifndef WEFT_CUDA_TAKE_QUESTION_H
#define WEFT_CUDA_TAKE_QUESTION_H

#include "cuda/cuda_device.h"

/** Find out, by allocating a little while a stream of the library waits. Takes less than a
 * millisecond where the driver does not wait, else PATIENCE_NS. No stream may be waiting. */
bool wefti_gives_beside_waits(weft_device_t *device);

#endif
