/* SPDX-License-Identifier: BSD-3-Clause */
/* cuGetProcAddress: finds the form of a call that a version of the interface had under a plain
 * name. */
#include "sim_older.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Names whose form has changed, newest first. Every other name has one form here, whatever its
 * suffix. */
static const struct {
    const char *name, *symbol;
    int since;
} forms[] = {
    {"cuCtxCreate", "cuCtxCreate_v4", 12050},
    {"cuCtxCreate", "cuCtxCreate_v3", 11040},
    {"cuCtxCreate", "cuCtxCreate_v2", 3020},
    {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
    {"cuDeviceGetUuid", "cuDeviceGetUuid", 9020},
    {"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
    {"cuEventElapsedTime", "cuEventElapsedTime", 2000},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
    {"cuGetProcAddress", "cuGetProcAddress", 11030},
    {"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000},
    {"cuGraphInstantiate", "cuGraphInstantiate_v2", 11000},
    {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2", 13000},
    {"cuMemcpyBatchAsync", "cuMemcpyBatchAsync", 12080},
    {"cuMemAdvise", "cuMemAdvise_v2", 12020},
    {"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 12020},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010},
};

static void *own_symbol(const char *name)
{
    static void *self;
    Dl_info here;
    if (self == NULL && dladdr((void *)own_symbol, &here) != 0)
        self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    return self == NULL ? NULL : dlsym(self, name);
}

static bool ends_in(const char *name, const char *mark, size_t suffix_length)
{
    size_t length = strlen(name);
    return length > suffix_length &&
           strncmp(name + length - suffix_length, mark, strlen(mark)) == 0;
}

static bool is_of_threads(const char *name)
{
    return ends_in(name, "_pt", 5);
}

/* Such a name (cuMemAlloc_v2) is that of one form. */
static bool has_version(const char *name)
{
    return ends_in(name, "_v", 3);
}

/* The form of `name` that `version` had. NULL: the name is not listed, or `reason` says that the
 * version is too old for it. */
static const char *listed_form(const char *name, int version,
                               CUdriverProcAddressQueryResult *reason)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(forms[i].name, name) != 0)
            continue;
        if (forms[i].since <= version)
            return forms[i].symbol;
        *reason = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
    return NULL;
}

static void *newest_form(const char *name, bool per_thread)
{
    static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
    static const char *const streams[] = {"_ptsz", "_ptds", ""};
    char symbol[256];
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = per_thread ? 0 : 2; k < 3; k++) {
            snprintf(symbol, sizeof(symbol), "%s%s%s", name, versions[i], streams[k]);
            void *found = own_symbol(symbol);
            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

static void *find_form(const char *name, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *reason)
{
    *reason = CU_GET_PROC_ADDRESS_SUCCESS;
    if (strncmp(name, "cu", 2) != 0 || is_of_threads(name)) {
        *reason = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        return NULL;
    }
    const char *form = has_version(name) ? name : listed_form(name, version, reason);
    void *found = NULL;
    if (form != NULL)
        found = own_symbol(form);
    else if (*reason == CU_GET_PROC_ADDRESS_SUCCESS)
        found = newest_form(name, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (found != NULL)
        *reason = CU_GET_PROC_ADDRESS_SUCCESS;
    else if (*reason == CU_GET_PROC_ADDRESS_SUCCESS)
        *reason = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found;
}

CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *reason_out)
{
    CUdriverProcAddressQueryResult reason;
    CUresult result = sim_begin_early(__func__);
    if (result == CUDA_SUCCESS && (name == NULL || out == NULL || version <= 0 || flags > 2))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *out = find_form(name, version, flags, &reason);
        if (reason_out != NULL)
            *reason_out = reason;
        if (*out == NULL)
            result = CUDA_ERROR_NOT_FOUND;
    }
    return sim_end(result);
}
