/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges between kernels of several processes, as runtime/device.h has them. */
#ifndef WEFT_CUDA_CUDA_EXCHANGE_H
#define WEFT_CUDA_CUDA_EXCHANGE_H

#include "cuda/cuda_queue.h"

/** Zeros, and a event behind them: what lies in memory from before must not look like a word that
 * has come. */
int wefti_clear(weft_device_t *device, void *memory, size_t bytes, weft_event_t *cleared);

/* As the functions of runtime/device.h. */
bool wefti_inbox_open(weft_device_t *device, size_t bytes, weft_event_t *cleared,
                      weft_inbox_t *out);
void wefti_inbox_close(weft_device_t *device, const weft_inbox_t *inbox);
int wefti_exchange(weft_queue_t *queue, const weft_exchange_t *exchange);

#endif
