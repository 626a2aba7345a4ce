/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the kinds of handles become addresses in this process, and addresses are given back.
 */
#ifndef WEFT_CUDA_MAPPING_HANDLES_H
#define WEFT_CUDA_MAPPING_HANDLES_H

#include "cuda/allocation.h"

/** What the functions here return beside the driver's results: the owner gives no descriptor. */
enum { WEFT_NO_DESCRIPTOR = -1 };

/** How to open and close a kind of handle. The functions run in the device's context. */
typedef struct weft_handle_ops {
    const char *name;
    weft_cu_result_t (*open)(const weft_share_t *share, const weft_device_t *device,
                             weft_cu_address_t *out);
    void (*close)(weft_cu_address_t address, size_t bytes);
    bool is_kept; /* the mapping is kept between uses */
} weft_handle_ops_t;

/** NULL: it is none of the kinds. */
const weft_handle_ops_t *wefti_handle_of(const weft_share_t *share);

/** Fetch a descriptor from the owner of a share. WEFT_CU_NOT_READY: it has been asked;
 * WEFT_NO_DESCRIPTOR: it gives none. */
weft_cu_result_t wefti_fetch_fd(int owner, uint64_t ticket, int *out);

/** Reading and writing by a device. */
weft_cu_access_t wefti_access_by(const weft_device_t *device);

/** Map a VMM allocation at an address of its own, for a device whose context is current, and unmap
 * it. */
weft_cu_result_t wefti_map_allocation(weft_cu_allocation_t allocation, size_t bytes,
                                      size_t alignment, const weft_device_t *device,
                                      weft_cu_address_t *out);
void wefti_unmap_allocation(weft_cu_address_t address, size_t bytes);

/** The pools that were imported stay open until then. */
void wefti_mapped_pools_close(void);

#endif
