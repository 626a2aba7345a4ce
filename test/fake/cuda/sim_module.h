/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules and functions. What an image holds is not looked at: kernels are found by name among
 * those that were compiled for the host (src/cuda/kernels/kernel_on_host.h has the same type). */
#ifndef WEFT_FAKE_CUDA_SIM_MODULE_H
#define WEFT_FAKE_CUDA_SIM_MODULE_H

#include "sim_stream.h"

typedef struct sim_kernel {
    const char *name;
    size_t args_bytes; /* a kernel takes one structure by value */
    /** Runs blocks * threads threads, one after the other. */
    void (*invoke)(const void *args, unsigned blocks, unsigned threads);
} sim_kernel_t;

typedef struct sim_module {
    sim_object_t object;
    sim_context_t *context; /* NULL: a library, of all contexts */
} sim_module_t;

typedef struct sim_function {
    sim_object_t object;
    sim_module_t *module;
    const sim_kernel_t *kernel;
} sim_function_t;

/** The kernel of that name; NULL: there is none. */
const sim_kernel_t *sim_kernel_find(const char *name);
/** The function of a module, or kernel of a library, of that name: CUDA_ERROR_NOT_FOUND. */
CUresult sim_function_get(sim_module_t *module, const char *name, sim_function_t **out);

#endif
