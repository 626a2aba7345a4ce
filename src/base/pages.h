/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of shared memory, which cost memory and time when they are touched for the first time. */
#ifndef WEFT_BASE_PAGES_H
#define WEFT_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/** Touch all pages of `bytes` bytes that begin with a page, in one call, which takes less time than
 * faults would. False: there is no memory for them. Where the kernel is too old for that (5.14), it
 * does nothing: they will be touched by faults. */
bool weft_touch_pages(void *memory, size_t bytes);

/** Map pages that another process has touched. Reading does it, and takes less time than anything
 * else: the kernel maps the pages around as well. */
void weft_map_pages(const void *memory, size_t bytes);

#endif
