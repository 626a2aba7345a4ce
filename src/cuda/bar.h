/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small pieces of device memory, copied by the processor: GDRCopy maps the device's memory through
 * its BAR, where writes are fast (0.1 us, then 10 GB/s) and reads slow (1 to 4 us, then 0.5 GB/s).
 * Both are faster than a copy by the driver (8 to 12 us and more).
 *
 *   allocation  | 64 KiB | ... | ... |            pages of the device
 *   mapping      [ up to 2 MiB as one mapping )    made after a few uses, as it takes about 1 ms
 *
 * A mapping belongs to an allocation by its id: what is known of freed memory is never taken for
 * the memory that has its address later, although GDRCopy takes the mapping away when memory is
 * freed. The least recently used mappings are closed where all of them together exceed
 * WEFT_DEVICE_BAR_MAX bytes.
 */
#ifndef WEFT_CUDA_BAR_H
#define WEFT_CUDA_BAR_H

#include "cuda/allocation.h"

typedef enum weft_bar_state {
    WEFT_BAR_UNKNOWN, /* GDRCopy was not looked for yet */
    WEFT_BAR_OPEN,
    WEFT_BAR_NO_LIBRARY,
    WEFT_BAR_NO_MODULE, /* GDRCopy's kernel module is not loaded */
} weft_bar_state_t;

weft_bar_state_t wefti_bar_state(void);

/** These do what the functions of runtime/device.h promise. */
bool wefti_bar_suits(size_t bytes, bool is_write);
bool wefti_bar_find(const weft_memory_t *memory, const void *buf, size_t bytes, bool is_write,
                    weft_bar_t *out);
void wefti_bar_read(const weft_bar_t *bar, void *to, size_t bytes);
void wefti_bar_write(const weft_bar_t *bar, const void *from, size_t bytes);

/** Close the mappings of an allocation that is being forgotten. */
void wefti_bar_forget(weft_allocation_t *allocation);

/** The number of mappings, for tests. */
int wefti_bar_mappings(void);

/** Called when all allocations have been forgotten. */
void wefti_bar_close(void);

#endif
