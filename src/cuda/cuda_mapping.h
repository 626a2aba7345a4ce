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
 * was freed: it is unmapped. So it is when the owner says that. Memory of pools is mapped for one
 * use only, since the owner may not free it before (cuMemPoolImportPointer); its pool stays.
 */
#ifndef WEFT_CUDA_CUDA_MAPPING_H
#define WEFT_CUDA_CUDA_MAPPING_H

#include "cuda/cuda_device.h"

/* As the functions of runtime/device.h. */
bool wefti_is_refused(const weft_share_t *share, weft_device_t *device);
bool wefti_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
               weft_mapping_t *out);
void wefti_unmap(weft_mapping_t *mapping);
void wefti_forget_mapping(int owner, uint64_t id);

/** A file descriptor of another process as one of ours; -1: not allowed, or it has gone. */
int wefti_fetch_fd(int pid, int fd);

/** An allocation of VMM at an address of its own, for a device, in whose context this is called;
 * and its opposite. */
weft_cu_result_t wefti_map_allocation(weft_cu_allocation_t allocation, size_t bytes,
                                      size_t alignment, const weft_device_t *device,
                                      weft_cu_address_t *out);
void wefti_unmap_allocation(weft_cu_address_t address, size_t bytes);

/** How many are kept; for tests. */
int wefti_mappings(void);

void wefti_mappings_close(void);

#endif
