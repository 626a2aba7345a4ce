/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few functions of the CUDA driver that a benchmark needs. libcuda.so.1 is loaded when a
 * program asks for it (-d), and no header of CUDA is needed. An error ends the program after a line
 * that names the call.
 */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* Blocks of a strided message: block i begins i * stride bytes after the first. */
typedef struct bench_blocks {
    size_t count, bytes, stride;
} bench_blocks_t;

/**
 * Load the driver and make the primary context of device `local_rank` modulo the number of devices
 * current.
 *
 * returns  false, after a line on stderr that says why, if there is no driver or no device
 */
bool bench_device_open(int local_rank);

/* A function of the driver, by the name that the library exports (cuMemAlloc_v2). The driver must
 * be open. */
void *bench_device_function(const char *name);

/* Memory of the device, or managed memory; released by free. */
void *bench_device_alloc(size_t bytes, bool is_managed);
void bench_device_free(void *memory);

/* Virtual memory that other processes can map (cuMemCreate), an allocation of its own. */
void *bench_device_alloc_virtual(size_t bytes);
void bench_device_free_virtual(void *memory, size_t bytes);

/* Set all bytes; the device has done it when the call returns. */
void bench_device_set(void *memory, unsigned char byte, size_t bytes);

/* Host memory that the device reaches without a copy in between. */
void *bench_device_alloc_pinned(size_t bytes);
void bench_device_free_pinned(void *memory);

/* Copy from the device to host memory (get) and back (put). The copies are complete when the calls
 * return, but a put from memory that is not pinned needs bench_device_wait. */
void bench_device_get(void *to, const void *from, size_t bytes);
void bench_device_put(void *to, const void *from, size_t bytes);
void bench_device_wait(void);

/* The same between blocks on the device and a packed copy on the host. Each block is one copy in a
 * stream, which is waited for once. */
void bench_device_get_blocks(void *to, const void *from, const bench_blocks_t *blocks);
void bench_device_put_blocks(void *to, const void *from, const bench_blocks_t *blocks);

#endif
