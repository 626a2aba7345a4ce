/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules and functions. The content of an image is ignored: kernels are found by name among those
 * that were compiled for the host. */
#ifndef SIMCUDA_SIM_MODULE_H
#define SIMCUDA_SIM_MODULE_H

#include "cuda/kernels/kernel_on_host.h"
#include "sim_stream.h"

typedef struct sim_module {
    sim_object_t object;
    sim_context_t *context; /* NULL: a library, of all contexts */
} sim_module_t;

typedef struct sim_function {
    sim_object_t object;
    sim_module_t *module;
    const weft_kernel_on_host_t *kernel;
    bool is_loaded;
} sim_function_t;

/** The kernel of that name; NULL: there is none. */
const weft_kernel_on_host_t *sim_kernel_find(const char *name);
/** Loads a function into a context, if it is not there yet. Drivers do that at its first launch
 * ("lazy loading"), and may wait for all work in the context; this one does. */
void sim_function_load(sim_function_t *function, sim_context_t *context);
/** The function of a module, or kernel of a library, of that name: CUDA_ERROR_NOT_FOUND. */
CUresult sim_function_get(sim_module_t *module, const char *name, sim_function_t **out);

#endif
