/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describing memory of this process to the other processes of the host. The kind of handle depends
 * on how the memory was allocated (weft_handle_kind_t): cuMemAlloc gives legacy handles; VMM and
 * pools give file descriptors or fabric handles, if the program asked for them; managed memory
 * gives none. A handle is made once for an allocation. File descriptors stay open here, and
 * peers get copies of them (runtime/fd_mail.h), until the allocation is freed. But memory of which
 * a descriptor is open is not free when the program frees it: so that of a brief share is closed
 * when nobody uses it any more, and so are those beyond a part of the device.
 */
#ifndef WEFT_CUDA_CUDA_SHARE_H
#define WEFT_CUDA_CUDA_SHARE_H

#include "cuda/allocation.h"
#include "runtime/world.h"

/** These do what weft_device->share(), ->unshare() and ->push() promise. */
bool wefti_share(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out);
void wefti_unshare(const weft_share_t *share);
void wefti_push_share(const weft_share_t *share, int rank);

/** Are so many bytes a large part of the device, or more than peers keep mapped? */
bool wefti_is_brief(const weft_device_t *device, size_t bytes);

/** The allocation, if it has a descriptor (it is exported if need be); else NULL. */
weft_allocation_t *wefti_share_by_fd(uint64_t id);

/** One of its shares has ended. NULL: the allocation has gone. */
void wefti_share_let_go(weft_allocation_t *entry, bool is_brief);

/** Close what an allocation's handle holds; it can be shared again. */
void wefti_share_end(weft_allocation_t *entry);

/** Give notice, once for a host, of the reason why memory cannot be shared between processes
 * directly. */
void wefti_warn_of_detour(weft_warning_t note, const char *reason);

void wefti_shares_close(void);

#endif
