/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/fabric_library.h"

#include "config.h"

#include "base/fail.h"
#include "mpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

weft_fabric_library_t weft_fabric;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"fi_getinfo", offsetof(weft_fabric_library_t, getinfo)},
    {"fi_freeinfo", offsetof(weft_fabric_library_t, freeinfo)},
    {"fi_dupinfo", offsetof(weft_fabric_library_t, dupinfo)},
    {"fi_fabric", offsetof(weft_fabric_library_t, fabric)},
    {"fi_version", offsetof(weft_fabric_library_t, version)},
    {"fi_strerror", offsetof(weft_fabric_library_t, strerror)},
};

/* Tries the loader's path first, then where configure found the library. */
static void *load_fabric_library(void)
{
    void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? library : dlopen(WEFT_LIBFABRIC_PATH, RTLD_NOW | RTLD_LOCAL);
}

/* The library is never unloaded, since providers leave threads and exit handlers behind. */
int weft_fabric_library_open(void)
{
    if (weft_fabric.getinfo != NULL)
        return MPI_SUCCESS;
    void *library = load_fabric_library();
    if (library == NULL)
        return weft_fail(MPI_ERR_OTHER, "libfabric cannot be loaded: %s", dlerror());
    weft_fabric_library_t found;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL)
            return weft_fail(MPI_ERR_OTHER, "libfabric has no %s: %s", symbols[i].name, dlerror());
        memcpy((char *)&found + symbols[i].offset, &symbol, sizeof(symbol));
    }
    weft_fabric = found;
    return MPI_SUCCESS;
}

const char *weft_fabric_error(long error)
{
    return weft_fabric.strerror((int)(error < 0 ? -error : error));
}
