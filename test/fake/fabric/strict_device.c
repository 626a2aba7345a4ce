/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory (FI_HMEM): a real provider reaches it over the bus; here the driver copies. The
 * driver is the one that the program has loaded; without it no memory counts as device memory. */
#include "strict.h"

#include <dlfcn.h>

enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_MEMORY_TYPE = 2, MEMORY_TYPE_DEVICE = 2 };

static struct {
    int (*attribute)(void *out, int attribute, uint64_t address);
    int (*push)(void *context);
    int (*pop)(void **out);
    int (*to_host)(void *to, uint64_t from, size_t bytes);
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
} driver;

static bool find_driver(void)
{
    if (driver.attribute != NULL)
        return true;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return false;
    *(void **)&driver.push = dlsym(library, "cuCtxPushCurrent_v2");
    *(void **)&driver.pop = dlsym(library, "cuCtxPopCurrent_v2");
    *(void **)&driver.to_host = dlsym(library, "cuMemcpyDtoH_v2");
    *(void **)&driver.to_device = dlsym(library, "cuMemcpyHtoD_v2");
    *(void **)&driver.attribute = dlsym(library, "cuPointerGetAttribute");
    return driver.attribute != NULL;
}

bool strict_is_device(const void *data)
{
    unsigned type = 0;
    return strict_options()->hmem && find_driver() &&
           driver.attribute(&type, ATTRIBUTE_MEMORY_TYPE, (uintptr_t)data) == 0 &&
           type == MEMORY_TYPE_DEVICE;
}

static bool enter(const void *data)
{
    void *context = NULL;
    return find_driver() && driver.attribute(&context, ATTRIBUTE_CONTEXT, (uintptr_t)data) == 0 &&
           driver.push(context) == 0;
}

static bool leave(int result)
{
    void *context;
    return driver.pop(&context) == 0 && result == 0;
}

bool strict_from_device(void *to, const void *from, size_t bytes)
{
    return enter(from) && leave(driver.to_host(to, (uintptr_t)from, bytes));
}

bool strict_to_device(void *to, const void *from, size_t bytes)
{
    return enter(to) && leave(driver.to_device((uintptr_t)to, from, bytes));
}
