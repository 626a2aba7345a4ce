/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool weft_touch_pages(void *memory, size_t bytes)
{
    return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}
