/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialised;
static _Thread_local bool is_in_host_function;

void sim_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* How often each call was made, and each kernel launched; names are compared by their addresses. */
static struct {
    const char *name;
    unsigned long calls;
} counts[512];

void sim_count(const char *name)
{
    size_t at = 0;
    while (counts[at].name != name && counts[at].name != NULL)
        at++;
    counts[at].name = name;
    counts[at].calls++;
}

/* For tests, no function of the driver: how often kernels were launched whose names begin with
 * `prefix`; with `tell` or `count`, calls of such names, too. */
__attribute__((visibility("default"))) unsigned long simLaunches(const char *prefix)
{
    unsigned long launches = 0;
    sim_lock();
    for (size_t i = 0; counts[i].name != NULL; i++)
        launches += strncmp(counts[i].name, prefix, strlen(prefix)) == 0 ? counts[i].calls : 0;
    sim_unlock();
    return launches;
}

static __attribute__((destructor)) void tell_counts(void)
{
    if (sim_options()->tell)
        fprintf(stderr, "simcuda: version %s\n", SIMCUDA_VERSION);
    for (size_t i = 0; sim_options()->tell && counts[i].name != NULL; i++)
        fprintf(stderr, "simcuda: %s %lu\n", counts[i].name, counts[i].calls);
}

/* ---- calls that keep others out ---- */

enum { REPORT_MS = 4000 }; /* after so long a time it is probably for ever */

static _Thread_local const char *this_call;
static pthread_cond_t admission = PTHREAD_COND_INITIALIZER;
static struct {
    const char *call; /* NULL: none */
    const sim_device_t *device;
    uint64_t since_ns;
    bool is_reported;
} exclusive;

void sim_exclude(const sim_device_t *device)
{
    exclusive.call = this_call;
    exclusive.device = device;
    exclusive.since_ns = sim_now();
    exclusive.is_reported = false;
}

void sim_admit(void)
{
    exclusive.call = NULL;
    pthread_cond_broadcast(&admission);
}

void sim_report_wait(const sim_device_t *device, const void *at, uint64_t value)
{
    if (exclusive.call == NULL || exclusive.device != device || exclusive.is_reported ||
        sim_now() - exclusive.since_ns < (uint64_t)REPORT_MS * 1000000)
        return;
    exclusive.is_reported = true;
    fprintf(stderr,
            "simcuda: %s waits for work of device %d, and keeps other calls out; a stream there "
            "waits until the word at %p has come to %llu\n",
            exclusive.call, device->ordinal, at, (unsigned long long)value);
}

CUresult sim_begin_early(const char *name)
{
    const sim_options_t *options = sim_options();
    sim_lock();
    while (exclusive.call != NULL)
        sim_wait(&admission);
    this_call = name;
    if (options->tell || options->count)
        sim_count(name);
    return sim_planned_failure(name);
}

CUresult sim_begin(const char *name)
{
    CUresult result = sim_begin_early(name);
    if (result != CUDA_SUCCESS)
        return result;
    if (is_in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    return is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_end(CUresult result)
{
    sim_unlock();
    return result;
}

void sim_wait(pthread_cond_t *condition)
{
    pthread_cond_wait(condition, &lock);
}

void sim_wait_until(pthread_cond_t *condition, uint64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                .tv_nsec = (long)(deadline_ns % 1000000000)};
    pthread_cond_timedwait(condition, &lock, &deadline);
}

void sim_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sim_host_function(bool begins)
{
    is_in_host_function = begins;
}

uint64_t sim_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t sim_next_id(void)
{
    static uint64_t id;
    return ++id;
}

void sim_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "simcuda: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

static CUresult open_driver(unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_initialised)
        return CUDA_SUCCESS;
    CUresult result = sim_devices_open();
    if (result == CUDA_SUCCESS)
        result = sim_space_open();
    is_initialised = result == CUDA_SUCCESS;
    return result;
}

CUresult cuInit(unsigned flags)
{
    CUresult result = sim_begin_early(__func__);
    return sim_end(result ? result : open_driver(flags));
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult result = sim_begin_early(__func__);
    if (result == CUDA_SUCCESS && version == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *version = (int)sim_options()->version;
    return sim_end(result);
}
