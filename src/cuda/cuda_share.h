/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describing memory of this process to the other processes of the host. The kind of handle depends
 * on how the memory was allocated (weft_handle_kind_t): cuMemAlloc gives legacy handles; VMM and
 * pools give file descriptors or fabric handles, if the program asked for them; managed memory
 * gives none. A handle is made once for an allocation. File descriptors stay open here, and
 * peers get copies of them (runtime/fd_mail.h), until the allocation is freed.
 */
#ifndef WEFT_CUDA_CUDA_SHARE_H
#define WEFT_CUDA_CUDA_SHARE_H

#include "cuda/allocation.h"
#include "runtime/world.h"

/** Does what weft_device->share() promises. */
bool wefti_share(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out);

/** Give notice, once for a host, of the reason why memory cannot be shared between processes
 * directly. */
void wefti_warn_of_detour(weft_warning_t note, const char *reason);

void wefti_shares_close(void);

#endif
