/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/host_place.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uintptr_t nowhere = 0;

weft_host_places_t wefti_host_places = {.heap_end = &nowhere};
_Thread_local weft_stack_place_t wefti_stack_place;

/* The first object that the linker lists is the program. */
static int host_find_program(struct dl_phdr_info *info, size_t bytes, void *out)
{
    weft_host_places_t *places = out;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        low = start < low ? start : low;
        high = start + header->p_memsz > high ? start + header->p_memsz : high;
    }
    if (low < high) {
        places->program = low;
        places->program_bytes = high - low;
    }
    return 1;
}

/* Where the heap of brk began: word 47 of /proc/self/stat (proc(5)); 0 if it cannot be read. The
 * command in word 2 may hold blanks, but no ')' follows it. */
static uintptr_t heap_start(void)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return 0;
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[bytes] = '\0';
    char *at = strrchr(text, ')');
    unsigned long start = 0;
    for (int word = 2; at != NULL && word < 47; word++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%lu", &start) == 1 ? start : 0;
}

void wefti_host_places_open(void)
{
    weft_host_places_t places = {.heap_end = &nowhere};
    dl_iterate_phdr(host_find_program, &places);
    sbrk(0); /* without this call the C library may not have set its word yet */
    const uintptr_t *end = dlsym(RTLD_DEFAULT, "__curbrk");
    uintptr_t start = heap_start();
    if (end != NULL && start != 0 && start <= *end) {
        places.heap = start;
        places.heap_end = end;
    }
    wefti_host_places = places;
}

void wefti_stack_find(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    /* an empty range, which says that the place is known */
    wefti_stack_place = (weft_stack_place_t){1, 1};
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0)
        wefti_stack_place = (weft_stack_place_t){(uintptr_t)low, (uintptr_t)low + bytes};
    pthread_attr_destroy(&attributes);
}
