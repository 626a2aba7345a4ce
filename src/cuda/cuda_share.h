/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describing memory of this process to the others of the host. How depends on where the memory is
 * from (weft_handle_kind_t): cuMemAlloc gives legacy handles, VMM and pools file descriptors or
 * fabric handles, if the program asked for them; managed memory none. A descriptor is made once for
 * an allocation. File descriptors stay open here, where peers fetch them (pidfd_getfd), until the
 * allocation is gone.
 */
#ifndef WEFT_CUDA_CUDA_SHARE_H
#define WEFT_CUDA_CUDA_SHARE_H

#include "cuda/allocation.h"
#include "runtime/world.h"

/** As weft_device->share(). */
bool wefti_share(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out);

/** Say, once a host, why memory goes between processes by a detour. */
void wefti_warn_of_detour(weft_warning_t note, const char *reason);

void wefti_shares_close(void);

#endif
