/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated driver, loaded while the test runs, as a program's libraries do: the code under
 * test never loads it. Without the driver the test is skipped.
 */
#ifndef TEST_UNIT_CUDA_LOADED_DRIVER_H
#define TEST_UNIT_CUDA_LOADED_DRIVER_H

#include "cuda/cuda.h"
#include "cuda/driver_api.h"
#include "runtime/device.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "datatype/op.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static void *loaded_driver;

static inline void load_driver(void)
{
    char path[4096];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof(path), "%s/simcuda/libcuda.so.1", build == NULL ? "." : build);
    loaded_driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (loaded_driver != NULL)
        return;
    printf("there is no simulated driver: %s\n", dlerror());
    exit(SKIPPED);
}

/* Call a function of the driver, which must succeed. */
#define CU(name, arguments, ...)                                                                   \
    must_succeed(((weft_cu_result_t(*) arguments)dlsym(loaded_driver, #name))(__VA_ARGS__), #name)

static inline void must_succeed(weft_cu_result_t result, const char *call)
{
    if (result == WEFT_CU_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", call, result);
    abort();
}

static inline void *take_device(size_t bytes)
{
    weft_cu_address_t address;
    CU(cuMemAlloc_v2, (weft_cu_address_t *, size_t), &address, bytes);
    return (void *)(uintptr_t)address;
}

static inline void give_device(void *memory)
{
    CU(cuMemFree_v2, (weft_cu_address_t), (uintptr_t)memory);
}

/* Make the primary context of a device current. */
static inline weft_cu_context_t use_device(int number)
{
    weft_cu_context_t context;
    CU(cuDevicePrimaryCtxRetain, (weft_cu_context_t *, int), &context, number);
    CU(cuCtxSetCurrent, (weft_cu_context_t), context);
    return context;
}

/* The part of start-up that device memory needs. */
static inline void open_library(void)
{
    weft_config_read();
    weft_log_open(-1);
    weft_op_select(weft_simd_choose());
    weft_progress_open(NULL);
    weft_cuda_open();
}

/* Open the library first, then load and use a driver with `words` for its settings. */
static inline void open_all(const char *words)
{
    setenv("SIMCUDA", words, 1);
    setenv("WEFT_LOG", "error", 1);
    open_library();
    load_driver();
    CU(cuInit, (unsigned), 0);
    use_device(0);
}

#endif
