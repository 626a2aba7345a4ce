/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers' memory in this process. A whole allocation is mapped at once and kept, found again by
 * owner and buffer id:
 *
 *   by id -> entry <-> entry <-> entry      the least recently used goes first, beyond so many
 * entries or WEFT_DEVICE_MAPPED_MAX bytes
 *
 * Opening a handle takes about a millisecond, so a small allocation is only mapped when it is seen
 * a second time. An allocation that overlaps an older one of the same owner says that the older one
 * was freed: it is unmapped. So it is when the owner says that. Memory of pools is mapped for one use only, since the owner may not
 * free it before (cuMemPoolImportPointer); its pool stays.
 */
#ifndef WEFT_CUDA_CUDA_MAPPING_H
#define WEFT_CUDA_CUDA_MAPPING_H

#include "cuda/cuda_device.h"

/* As the functions of core/device.h. */
bool wefti_is_refused(const weft_share_t *share, weft_device_t *device);
bool wefti_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
               weft_mapping_t *out);
void wefti_unmap(weft_mapping_t *mapping);
void wefti_forget_mapping(int owner, uint64_t id);

/** How many are kept; for tests. */
int wefti_mappings(void);

void wefti_mappings_close(void);

#endif
