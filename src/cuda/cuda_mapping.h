/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers' memory in this process. A whole allocation is mapped at once and kept, and is found again
 * by owner and buffer id:
 *
 *   by id -> entry <-> entry <-> entry
 *
 * The least recently used entry is dropped first, when there are too many entries or more than
 * WEFT_DEVICE_MAPPED_MAX bytes.
 *
 * Opening a handle takes about a millisecond, so a small allocation is only mapped when it is seen
 * a second time. An allocation that overlaps an older one of the same owner shows that the older
 * one was freed, so the older one is unmapped. It is also unmapped when the owner reports that it
 * was freed. Memory of pools is mapped for one use only, since the owner may not free it while it
 * is mapped (cuMemPoolImportPointer); the pool itself stays open.
 *
 * Except for pools, mapping and unmapping may wait for all work of the device. So neither is done
 * while a stream of the program may wait for the library: it is done before a stream waits the next
 * time, a mapping for later use.
 */
#ifndef WEFT_CUDA_CUDA_MAPPING_H
#define WEFT_CUDA_CUDA_MAPPING_H

#include "cuda/cuda_device.h"

/* These do what the functions of runtime/device.h promise. */
bool wefti_is_refused(const weft_share_t *share, weft_device_t *device);
bool wefti_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
               weft_mapping_t *out);
void wefti_unmap(weft_mapping_t *mapping);
void wefti_forget_mapping(int owner, uint64_t id);

/** Has the owner been asked for descriptors of a share, and not answered yet? */
bool wefti_is_awaited(const weft_share_t *share);
/** Descriptors that its owner sends are not needed any more. */
void wefti_give_up(const weft_share_t *share);

/** Map what could not be mapped because a stream might wait (wefti_streams_may_wait); none may wait
 * now. */
void wefti_mappings_catch_up(void);
bool wefti_has_missed_mapping(void);

/** The number of mappings that are kept, for tests. */
int wefti_mappings(void);

void wefti_mappings_close(void);

#endif
