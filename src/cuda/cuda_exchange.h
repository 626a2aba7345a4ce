/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges between kernels of several processes, as runtime/device.h describes them. */
#ifndef WEFT_CUDA_CUDA_EXCHANGE_H
#define WEFT_CUDA_CUDA_EXCHANGE_H

#include "cuda/cuda_queue.h"
#include "runtime/device_stream.h"

/** Write zeros, and record an event behind them: old contents of the memory must not be taken for a
 * word that has arrived. */
int wefti_clear(weft_device_t *device, void *memory, size_t bytes, weft_event_t *cleared);

/* These do what the functions of runtime/device.h promise. */
bool wefti_inbox_open(weft_device_t *device, size_t bytes, weft_event_t *cleared,
                      weft_inbox_t *out);
void wefti_inbox_close(weft_device_t *device, const weft_inbox_t *inbox);
int wefti_exchange(weft_queue_t *queue, const weft_exchange_t *exchange);
int wefti_stream_put_exchange(weft_user_stream_t *stream, const weft_exchange_t *exchange);

/** How long a kernel waits for those of other ranks before it ends by itself; 0: for ever. */
uint64_t wefti_kernel_limit_ns(void);

#endif
