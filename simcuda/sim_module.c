/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the kernels that were compiled for the host ---- */

static void *kernels;

/* NULL: there is no such file, so there are no kernels. */
static void *open_file(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL && access(path, F_OK) == 0)
        sim_die("%s", dlerror());
    return library;
}

static void *open_beside(void)
{
    char path[4096];
    Dl_info here;
    if (dladdr((void *)open_beside, &here) == 0)
        return NULL;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder = slash == NULL ? 0 : (int)(slash - here.dli_fname + 1);
    snprintf(path, sizeof(path), "%.*slibweft_kernels_host.so", folder, here.dli_fname);
    return open_file(path);
}

/* Opens the kernels beside this library, in the program, or in the file that SIMCUDA names. */
static void open_kernels(void)
{
    const char *given = sim_options()->kernels;
    if (kernels != NULL)
        return;
    if (given[0] == '\0')
        kernels = open_beside();
    else
        kernels = strcmp(given, "program") == 0 ? dlopen(NULL, RTLD_NOW) : open_file(given);
    void *(**translate)(const void *) =
        kernels == NULL ? NULL : dlsym(kernels, "weft_host_translate");
    if (translate != NULL)
        *translate = sim_kernel_translate;
    unsigned (**multicast)(const void *, void **, unsigned) =
        kernels == NULL ? NULL : dlsym(kernels, "weft_host_multicast");
    if (multicast != NULL)
        *multicast = sim_kernel_multicast;
}

const weft_kernel_on_host_t *sim_kernel_find(const char *name)
{
    char symbol[512];
    open_kernels();
    snprintf(symbol, sizeof(symbol), "%s_on_host", name);
    return kernels == NULL ? NULL : dlsym(kernels, symbol);
}

/* ---- modules and libraries ---- */

typedef struct wanted {
    const sim_module_t *module;
    const char *name;
    sim_function_t *found;
} wanted_t;

static void match(void *object, void *data)
{
    sim_function_t *function = object;
    wanted_t *wanted = data;
    if (function->module == wanted->module && strcmp(function->kernel->name, wanted->name) == 0)
        wanted->found = function;
}

CUresult sim_function_get(sim_module_t *module, const char *name, sim_function_t **out)
{
    if (out == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (module == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    const weft_kernel_on_host_t *kernel = sim_kernel_find(name);
    if (kernel == NULL)
        return CUDA_ERROR_NOT_FOUND;
    wanted_t wanted = {module, name, NULL};
    sim_object_each(SIM_FUNCTION, match, &wanted);
    if (wanted.found == NULL) {
        wanted.found = sim_object_create(SIM_FUNCTION, sizeof(sim_function_t));
        wanted.found->module = module;
        wanted.found->kernel = kernel;
    }
    *out = wanted.found;
    return CUDA_SUCCESS;
}

void sim_function_load(sim_function_t *function, sim_context_t *context)
{
    if (function->is_loaded)
        return;
    sim_quiesce(context);
    function->is_loaded = true;
}

static void release_if_of(void *object, void *module)
{
    if (((sim_function_t *)object)->module == module)
        sim_object_release(object);
}

static void unload(sim_module_t *module)
{
    sim_object_each(SIM_FUNCTION, release_if_of, module);
    sim_object_release(module);
}

static void end_if_of(void *object, void *context)
{
    if (((sim_module_t *)object)->context == context)
        unload(object);
}

void sim_modules_end(sim_context_t *context)
{
    sim_object_each(SIM_MODULE, end_if_of, context);
}

static CUresult load_module(CUmodule *out, const void *image)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce(context);
    sim_module_t *module = sim_object_create(SIM_MODULE, sizeof(*module));
    module->context = context;
    *out = (CUmodule)module;
    return CUDA_SUCCESS;
}

/* The module that a handle names if it is a library, or belongs to a context, as
 * `is_library` says. */
static sim_module_t *module_of(const void *handle, bool is_library)
{
    sim_module_t *module = sim_object_find(SIM_MODULE, handle);
    return module != NULL && (module->context == NULL) == is_library ? module : NULL;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : load_module(out, image));
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count, CUjit_option *options,
                            void **values)
{
    CUresult result = sim_begin(__func__);
    (void)count, (void)options, (void)values;
    return sim_end(result ? result : load_module(out, image));
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : load_module(out, image));
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    CUresult result = sim_begin(__func__);
    FILE *file = result == CUDA_SUCCESS && path != NULL ? fopen(path, "r") : NULL;
    if (result == CUDA_SUCCESS && file == NULL)
        result = CUDA_ERROR_FILE_NOT_FOUND;
    if (file != NULL)
        fclose(file);
    return sim_end(result ? result : load_module(out, path));
}

CUresult cuModuleUnload(CUmodule handle)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && module_of(handle, false) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        unload(module_of(handle, false));
    return sim_end(result);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *out)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = CU_MODULE_LAZY_LOADING;
    return sim_end(result);
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    CUresult result = sim_begin(__func__);
    return sim_end(
        result ? result : sim_function_get(module_of(handle, false), name, (sim_function_t **)out));
}

/* Kernels on the host have no global variables. */
CUresult cuModuleGetGlobal(CUdeviceptr *out, size_t *bytes, CUmodule handle, const char *name)
{
    CUresult result = sim_begin(__func__);
    (void)out, (void)bytes;
    if (result == CUDA_SUCCESS && name == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result =
            module_of(handle, false) == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_FOUND;
    return sim_end(result);
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *options, void **values,
                           unsigned count, CUlibraryOption *library_options, void **library_values,
                           unsigned library_count)
{
    CUresult result = sim_begin(__func__);
    (void)count, (void)options, (void)values, (void)library_options, (void)library_values,
        (void)library_count;
    if (result == CUDA_SUCCESS && (out == NULL || image == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = sim_object_create(SIM_MODULE, sizeof(sim_module_t));
    return sim_end(result);
}

CUresult cuLibraryUnload(CUlibrary handle)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && module_of(handle, true) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        unload(module_of(handle, true));
    return sim_end(result);
}

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
    CUresult result = sim_begin(__func__);
    return sim_end(
        result ? result : sim_function_get(module_of(handle, true), name, (sim_function_t **)out));
}

/* A kernel of a library can be launched in any context, so it is its own function. */
CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && sim_object_find(SIM_FUNCTION, kernel) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        *out = (CUfunction)kernel;
    return sim_end(result);
}
