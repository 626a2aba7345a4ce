/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small pieces of device memory, copied by the processor: GDRCopy maps the device's memory through
 * its BAR, where writes are fast (0.1 us, then 10 GB/s) and reads slow (1 to 4 us, then 0.5 GB/s),
 * but both faster than to tell the driver (8 to 12 us and more).
 *
 *   allocation  | 64 KiB | ... | ... |            pages of the device
 *   mapping      [ up to 2 MiB, as a mapping  )    made when a part of it was wanted some times,
 *                                                 since that takes about a millisecond
 *
 * Windows belong to an allocation by its id: what is known of freed memory is never taken for what
 * lies at its address now, although GDRCopy takes the mapping away. The oldest go when there are
 * more than WEFT_DEVICE_BAR_MAX bytes.
 */
#ifndef WEFT_CUDA_BAR_H
#define WEFT_CUDA_BAR_H

#include "cuda/allocation.h"

typedef enum weft_bar_state {
    WEFT_BAR_UNKNOWN, /* nobody has asked for it yet */
    WEFT_BAR_OPEN,
    WEFT_BAR_NO_LIBRARY,
    WEFT_BAR_NO_MODULE, /* in the kernel */
} weft_bar_state_t;

weft_bar_state_t wefti_bar_state(void);

/** As the functions of runtime/device.h. */
bool wefti_bar_suits(size_t bytes, bool is_write);
bool wefti_bar_find(const weft_memory_t *memory, const void *buf, size_t bytes, bool is_write,
                    weft_bar_t *out);
void wefti_bar_read(const weft_bar_t *bar, void *to, size_t bytes);
void wefti_bar_write(const weft_bar_t *bar, const void *from, size_t bytes);

/** An allocation is forgotten: its mappings go. */
void wefti_bar_forget(weft_allocation_t *allocation);

/** How many mappings there are; for tests. */
int wefti_bar_mappings(void);

/** After the allocations. */
void wefti_bar_close(void);

#endif
