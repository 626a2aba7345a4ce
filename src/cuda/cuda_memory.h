/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the library takes from the driver: pinned slots of the host, and scratch on the
 * device. Both are pooled, bounded, and given back only at the end of MPI: the driver takes about a
 * millisecond to allocate pinned memory, and allocating or freeing either kind may wait for all
 * work on the device. So a device whose streams may wait for the library has a reserve, and takes
 * more only while none waits (wefti_may_take).
 *
 *   pinned   | slab of slots of 64 bytes | of 16 KiB | of 512 KiB |    up to WEFT_DEVICE_PINNED_MAX
 *   scratch  pieces of 64 KiB << class, each an allocation of its own so that peers can map it
 */
#ifndef WEFT_CUDA_CUDA_MEMORY_H
#define WEFT_CUDA_CUDA_MEMORY_H

#include "cuda/cuda_device.h"

/* These do what the functions of runtime/device.h promise. */
void *wefti_pinned_take(weft_device_t *device, size_t bytes);
void wefti_pinned_give(void *slot);

/** Does the driver have what wefti_register() needs? */
bool wefti_can_register(void);
/** Register ordinary memory with the driver, in the context that is current. The device reaches it
 * at the host's address; where it would not, nothing is registered, and the result is an error. */
weft_cu_result_t wefti_register(void *memory, size_t bytes);

/** Count memory that was not taken here, and is pinned until MPI ends; false: it would be too
 * much. */
bool wefti_pinned_charge(weft_device_t *device, size_t bytes);

/** Take a word in a cache line of its own; NULL if there is none. It may be given back after the
 * device's context has ended, when the memory is gone. */
uint32_t *wefti_pinned_word(weft_device_t *device);
void wefti_pinned_give_word(weft_device_t *device, uint32_t *word);

void *wefti_scratch_take(weft_device_t *device, size_t bytes);
void wefti_scratch_give(weft_device_t *device, void *scratch);

/** Take the memory that the library's work needs while the driver cannot be asked for more. */
void wefti_memory_reserve(weft_device_t *device);
/** Take the memory that was missed since the driver could not be asked. */
void wefti_memory_catch_up(weft_device_t *device);
bool wefti_has_missed_memory(const weft_device_t *device);

/** Does `memory` lie in a slot that the driver would not pin, so that no kernel may touch it? */
bool wefti_is_pageable_slot(const weft_device_t *device, const void *memory);

void wefti_pinned_release(weft_device_t *device, bool is_alive);
void wefti_scratch_release(weft_device_t *device, bool is_alive);

#endif
