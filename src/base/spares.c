/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/spares.h"

#include "base/memory.h"

/* The class of sizes; WEFT_SPARE_SIZES or more: such blocks are not kept. */
static int size_class(size_t bytes)
{
    size_t above = (bytes - (bytes > 0)) >> WEFT_SPARE_LEAST_BITS;
    return above == 0 ? 0 : 64 - __builtin_clzll(above);
}

static size_t bytes_of_class(int size)
{
    return (size_t)1 << (WEFT_SPARE_LEAST_BITS + size);
}

void *weft_spare_take(weft_spares_t *spares, size_t bytes)
{
    int size = size_class(bytes);
    if (size >= WEFT_SPARE_SIZES)
        return weft_alloc(bytes);
    void *memory = spares->first[size];
    if (memory == NULL)
        return weft_alloc(bytes_of_class(size));
    spares->first[size] = *(void **)memory;
    spares->kept -= bytes_of_class(size);
    return memory;
}

void weft_spare_give(weft_spares_t *spares, void *memory, size_t bytes)
{
    int size = size_class(bytes);
    if (memory == NULL)
        return;
    if (size >= WEFT_SPARE_SIZES || spares->kept + bytes_of_class(size) > spares->most) {
        weft_free(memory);
        return;
    }
    *(void **)memory = spares->first[size];
    spares->first[size] = memory;
    spares->kept += bytes_of_class(size);
}

void weft_spares_close(weft_spares_t *spares)
{
    for (int size = 0; size < WEFT_SPARE_SIZES; size++) {
        while (spares->first[size] != NULL) {
            void *memory = spares->first[size];
            spares->first[size] = *(void **)memory;
            weft_free(memory);
        }
    }
    spares->kept = 0;
}
