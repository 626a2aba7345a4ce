/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/pages.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { PAGE = 4096 };

bool weft_touch_pages(void *memory, size_t bytes)
{
    return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

void weft_map_pages(const void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        (void)*((const volatile char *)memory + at);
}
