/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sharing buffers that lie in several pieces of virtual memory side by side, as those of allocators
 * with expandable segments do. Each piece has a descriptor of its own; the share names a file in
 * memory of the owner, which lists them, and peers map the pieces side by side:
 *
 *   owner   |  piece  |  piece [buffer... |  ...  ]  |  piece  |
 *   list                ticket 12, 2M      ticket 17, 20M
 *   peer               [           one reservation           ]
 *
 * A peer gets the descriptor of the file first, and then those of the pieces (runtime/fd_mail.h).
 *
 * A list has an id of its own, which is not one of the driver's. It is forgotten when one of its
 * pieces is freed.
 */
#ifndef WEFT_CUDA_CUDA_SEGMENTS_H
#define WEFT_CUDA_CUDA_SEGMENTS_H

#include "cuda/allocation.h"

/** As weft_device->share(), for a buffer that is longer than the allocation at its beginning. */
bool wefti_segments_share(const void *buf, size_t bytes, weft_share_t *out);
void wefti_segments_unshare(const weft_share_t *share);

/** Send the descriptors of the pieces to a rank. */
void wefti_segments_push(const weft_share_t *share, int rank);

/** An allocation has gone: forget the lists that name it. */
void wefti_segments_forget(uint64_t id);

/** Map and unmap what such a share describes, for a device whose context is current.
 * WEFT_CU_NOT_READY: the owner has been asked for descriptors. */
weft_cu_result_t wefti_segments_map(const weft_share_t *share, const weft_device_t *device,
                                    weft_cu_address_t *out);
void wefti_segments_unmap(weft_cu_address_t address, size_t bytes);

/** Has its owner been asked for descriptors, and not sent all of them yet? */
bool wefti_segments_are_awaited(const weft_share_t *share);
/** What has come of them is not needed any more. Other shares are ignored. */
void wefti_segments_give_up(const weft_share_t *share);

void wefti_segments_close(void);

#endif
