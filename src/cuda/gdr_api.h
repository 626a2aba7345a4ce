/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Weft needs of GDRCopy (libgdrapi.so.2), in declarations of its own: the library is found at
 * run time (bar.c). The types are those of gdrapi.h 2.x. Functions that return int return 0 or a
 * value of errno.
 */
#ifndef WEFT_CUDA_GDR_API_H
#define WEFT_CUDA_GDR_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_GDR_LIBRARY "libgdrapi.so.2"

enum { WEFT_GDR_PAGE = 64 * 1024 }; /* what is pinned begins and ends at a multiple of this */

/* The connection to the driver's module (gdr_t). */
typedef struct gdr *weft_gdr_t;

/* Pinned memory (gdr_mh_t). */
typedef struct weft_gdr_handle {
    unsigned long number;
} weft_gdr_handle_t;

/* gdr_info_v2_t. */
typedef struct weft_gdr_info {
    /* the device address where the mapping begins: at or before what was pinned */
    uint64_t address;
    uint64_t bytes;
    uint32_t page_bytes;
    uint64_t cycles;
    uint32_t cycles_per_ms;
    unsigned is_mapped : 1;
    unsigned combines_writes : 1;
    int type; /* 0: not mapped; 1: write-combining, 2: cached, 3: device memory */
} weft_gdr_info_t;

/*
 * The functions, X(result, name, arguments). Memory must be unmapped before it is unpinned. Memory
 * that is freed loses its pins, and a later access to its mapping raises a signal.
 */
#define WEFT_GDR_FUNCTIONS(X)                                                                      \
    X(weft_gdr_t, gdr_open, (void))                                                                \
    X(int, gdr_close, (weft_gdr_t gdr))                                                            \
    X(int, gdr_pin_buffer,                                                                         \
      (weft_gdr_t gdr, unsigned long address, size_t bytes, uint64_t p2p_token, uint32_t va_space, \
       weft_gdr_handle_t *out))                                                                    \
    X(int, gdr_unpin_buffer, (weft_gdr_t gdr, weft_gdr_handle_t handle))                           \
    X(int, gdr_get_info_v2, (weft_gdr_t gdr, weft_gdr_handle_t handle, weft_gdr_info_t * out))     \
    X(int, gdr_map, (weft_gdr_t gdr, weft_gdr_handle_t handle, void **out, size_t bytes))          \
    X(int, gdr_unmap, (weft_gdr_t gdr, weft_gdr_handle_t handle, void *at, size_t bytes))          \
    X(int, gdr_copy_to_mapping,                                                                    \
      (weft_gdr_handle_t handle, void *to, const void *from, size_t bytes))                        \
    X(int, gdr_copy_from_mapping,                                                                  \
      (weft_gdr_handle_t handle, void *to, const void *from, size_t bytes))                        \
    X(void, gdr_runtime_get_version, (int *major_out, int *minor_out))

typedef struct weft_gdr_api {
#define WEFT_GDR_MEMBER(result, name, arguments) result(*name) arguments;
    WEFT_GDR_FUNCTIONS(WEFT_GDR_MEMBER)
#undef WEFT_GDR_MEMBER
} weft_gdr_api_t;

/** Find the functions in a library that dlopen() returned; false if it lacks one. */
bool weft_gdr_find(void *library, weft_gdr_api_t *out);

#endif
