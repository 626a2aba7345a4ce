/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words by which kernels in streams of the program tell the host how far they are. They lie in
 * ordinary memory that is registered with the driver, not in memory of the driver's: the host reads
 * them at any time, also after the program has ended the context.
 */
#ifndef WEFT_CUDA_WATCH_WORDS_H
#define WEFT_CUDA_WATCH_WORDS_H

#include "cuda/cuda_device.h"
#include "runtime/device_stream.h"

/** Do what the functions of runtime/device_stream.h promise. */
uint32_t *wefti_stream_take_watch(const weft_user_stream_t *stream);
void wefti_stream_give_watch(uint32_t *watch);

/** Called at the end of MPI. */
void wefti_watch_words_close(void);

#endif
