/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/watch_words.h"

#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>

enum { PAGE_BYTES = 4096 };
_Static_assert(PAGE_BYTES / WEFT_WATCH_BYTES == 64, "a bit for each of a page");

/* A page of words of one device; registering it may take long, so it is kept. */
typedef struct watch_page {
    weft_device_t *device;
    char *memory;
    uint64_t free; /* a bit for each */
    struct watch_page *next;
} watch_page_t;

static watch_page_t *watch_pages;

static bool register_page(weft_device_t *device, void *memory)
{
    weft_visit_t visit;
    if (!wefti_can_register() || wefti_streams_may_wait() ||
        wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return false;
    weft_cu_result_t result = wefti_register(memory, PAGE_BYTES);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS;
}

static watch_page_t *add_watch_page(weft_device_t *device)
{
    watch_page_t *page = weft_alloc(sizeof(*page));
    char *memory = page == NULL ? NULL : weft_alloc_aligned(PAGE_BYTES, PAGE_BYTES);
    if (memory == NULL || !register_page(device, memory)) {
        weft_free(memory);
        weft_free(page);
        return NULL;
    }
    *page = (watch_page_t){device, memory, ~(uint64_t)0, watch_pages};
    watch_pages = page;
    return page;
}

uint32_t *wefti_stream_take_watch(const weft_user_stream_t *stream)
{
    weft_device_t *device = wefti_stream_device(stream);
    watch_page_t *page = watch_pages;
    while (page != NULL && (page->device != device || page->free == 0))
        page = page->next;
    if (page == NULL)
        page = add_watch_page(device);
    if (page == NULL)
        return NULL;
    char *watch = page->memory + __builtin_ctzll(page->free) * WEFT_WATCH_BYTES;
    page->free &= page->free - 1;
    memset(watch, 0, WEFT_WATCH_BYTES);
    return (uint32_t *)(void *)watch;
}

void wefti_stream_give_watch(uint32_t *watch)
{
    watch_page_t *page = watch_pages;
    while ((uintptr_t)watch - (uintptr_t)page->memory >= PAGE_BYTES)
        page = page->next;
    page->free |= (uint64_t)1 << ((size_t)((char *)watch - page->memory) / WEFT_WATCH_BYTES);
}

void wefti_watch_words_close(void)
{
    weft_visit_t visit;
    for (watch_page_t *page = watch_pages, *next; page != NULL; page = next) {
        next = page->next;
        if (wefti_device_enter(page->device, &visit) == MPI_SUCCESS) {
            wefti_cu.cuMemHostUnregister(page->memory);
            wefti_device_leave(&visit);
        }
        weft_free(page->memory);
        weft_free(page);
    }
    watch_pages = NULL;
}
