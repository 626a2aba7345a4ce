/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/driver.h"

#include "runtime/device.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

weft_cu_driver_t wefti_cu;
bool wefti_driver_is_in_use;

static enum { ABSENT, LOADED, UNUSABLE } state;
static void *library, *pinned_tail;
static unsigned long long loads_seen;

static const char driver_name[] = "libcuda.so.1";
static const uintptr_t always = 1, never = 0;

static void watch_loads(const uintptr_t *news)
{
    weft_device_news = news;
}

/* ---- functions ---- */

typedef struct symbol {
    const char *name;
    void **at;
    bool is_needed;
} symbol_t;

static bool find_driver_functions(void)
{
    const symbol_t symbols[] = {
#define WEFT_SYMBOL(name, exported, arguments) {#exported, (void **)&wefti_cu.name, true},
        WEFT_CU_NEEDED(WEFT_SYMBOL)
#undef WEFT_SYMBOL
#define WEFT_SYMBOL(name, exported, arguments) {#exported, (void **)&wefti_cu.name, false},
            WEFT_CU_WANTED(WEFT_SYMBOL)
#undef WEFT_SYMBOL
    };
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].at = dlsym(library, symbols[i].name);
        if (*symbols[i].at != NULL || !symbols[i].is_needed)
            continue;
        if (weft_world_may_warn(WEFT_WARNING_OLD_DRIVER))
            WEFT_LOG(WEFT_WARN, "cuda",
                     "the CUDA driver of this process has no %s: it is older than 11.4, and device "
                     "memory cannot be given to MPI",
                     symbols[i].name);
        return false;
    }
    return true;
}

/* ---- is it there? ---- */

static int driver_take_loads(struct dl_phdr_info *info, size_t bytes, void *out)
{
    (void)bytes;
    *(unsigned long long *)out = info->dlpi_adds;
    return 1; /* the first object has the counts of all */
}

static bool is_something_new(void)
{
    unsigned long long loads = 0;
    dl_iterate_phdr(driver_take_loads, &loads);
    if (loads == loads_seen)
        return false;
    loads_seen = loads;
    return true;
}

static void unpin_tail(void)
{
    if (pinned_tail != NULL)
        dlclose(pinned_tail);
    pinned_tail = NULL;
}

static void look_for_library(void)
{
    watch_loads(&always);
    unpin_tail();
    if (!is_something_new())
        return;
    library = dlopen(driver_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL)
        return;
    state = find_driver_functions() ? LOADED : UNUSABLE;
    if (state == UNUSABLE)
        watch_loads(&never);
}

/* Answers of a library that will never have a device: the toolkit's stub, one that does not fit the
 * kernel's driver, one on a host without a device. */
static bool is_final(weft_cu_result_t result)
{
    return result == WEFT_CU_STUB_LIBRARY || result == WEFT_CU_NO_DEVICE ||
           result == WEFT_CU_DRIVER_MISMATCH || result == WEFT_CU_COMPAT_NOT_SUPPORTED;
}

/* Other failures than the final ones are those of a driver that is not initialised yet, or not
 * ready. */
static void look_for_initialisation(void)
{
    weft_cu_context_t context;
    weft_cu_result_t result = wefti_cu.cuCtxGetCurrent(&context);
    if (result == WEFT_CU_SUCCESS || result == WEFT_CU_INVALID_CONTEXT) {
        wefti_driver_is_in_use = true;
        WEFT_LOG(WEFT_INFO, "cuda", "the program uses CUDA");
    } else if (is_final(result)) {
        state = UNUSABLE;
        watch_loads(&never);
        WEFT_LOG(WEFT_INFO, "cuda", "%s can use no device: %s", driver_name,
                 wefti_driver_error(result));
    }
}

bool wefti_driver_look(void)
{
    if (state == ABSENT)
        look_for_library();
    if (state == LOADED)
        look_for_initialisation();
    return wefti_driver_is_in_use;
}

/* Does the program find a driver when it looks for one? It takes 10 ms to load a real one: that of
 * a host with a device is seen by its nodes, those of NVIDIA's kernel driver or of WSL. */
static bool can_be_loaded(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"};
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        if (access(nodes[i], F_OK) == 0)
            return true;
    }
    void *found = dlopen(driver_name, RTLD_LAZY | RTLD_LOCAL);
    if (found != NULL)
        dlclose(found);
    return found != NULL;
}

bool wefti_driver_may_come(void)
{
    static enum { UNKNOWN, NEVER, SOME_DAY } answer;
    if (answer == UNKNOWN)
        answer = *weft_device_news != 0 || can_be_loaded() ? SOME_DAY : NEVER;
    return answer == SOME_DAY;
}

/* The last object of the list is kept loaded by a reference, so that its l_next can be read
 * whatever the program unloads. */
static const uintptr_t *watch_tail(void)
{
    struct link_map *tail = dlopen(NULL, RTLD_LAZY);
    if (tail == NULL)
        return &always;
    dlclose(tail); /* the program itself is never unloaded */
    while (tail->l_next != NULL)
        tail = tail->l_next;
    pinned_tail = dlopen(tail->l_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    return pinned_tail == NULL ? &always : (const uintptr_t *)&tail->l_next;
}

const uintptr_t *wefti_driver_open(void)
{
    state = ABSENT;
    loads_seen = 0;
    wefti_driver_look();
    return state == ABSENT ? watch_tail() : weft_device_news;
}

void wefti_driver_close(void)
{
    unpin_tail();
    library = NULL; /* not closed: the driver has threads, which must not lose their code */
    wefti_driver_is_in_use = false;
}

/* ---- errors ---- */

const char *wefti_driver_error(weft_cu_result_t result)
{
    static _Thread_local char text[160];
    const char *name = NULL, *meaning = NULL;
    if (wefti_cu.cuGetErrorName(result, &name) != WEFT_CU_SUCCESS || name == NULL)
        snprintf(text, sizeof(text), "CUDA error %d", result);
    else if (wefti_cu.cuGetErrorString(result, &meaning) != WEFT_CU_SUCCESS || meaning == NULL)
        snprintf(text, sizeof(text), "%s", name);
    else
        snprintf(text, sizeof(text), "%s (%s)", name, meaning);
    return text;
}

int wefti_driver_failed(weft_cu_result_t result, const char *call, const char *format, ...)
{
    char about[200];
    va_list args;
    va_start(args, format);
    vsnprintf(about, sizeof(about), format, args);
    va_end(args);
    int class = result == WEFT_CU_OUT_OF_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
    return weft_fail(class, "%s: %s failed: %s", about, call, wefti_driver_error(result));
}
