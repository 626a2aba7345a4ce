/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base/cpu.h"

#include "base/memory.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MASK_MOST = 1 << 17 }; /* processors: more than Linux can be built for */

/* The kernel refuses a mask with fewer bits than the machine may have processors. False: it
 * refuses this one. */
static bool read_mask(size_t processors, weft_cpus_t *out)
{
    size_t bytes = CPU_ALLOC_SIZE(processors);
    cpu_set_t *mask = weft_alloc_zeroed(1, bytes);
    if (mask == NULL || sched_getaffinity(0, bytes, mask) != 0) {
        weft_free(mask);
        return false;
    }
    for (size_t cpu = 0; cpu < processors; cpu++) {
        if (CPU_ISSET_S(cpu, bytes, mask))
            weft_cpus_put(out, (int)(cpu % (64 * WEFT_CPU_WORDS)));
    }
    weft_free(mask);
    return true;
}

weft_cpus_t weft_cpus_allowed(void)
{
    weft_cpus_t cpus = {{0}};
    for (size_t processors = CPU_SETSIZE; processors <= MASK_MOST; processors *= 2) {
        if (read_mask(processors, &cpus))
            return cpus;
    }
    cpus.words[0] = 1;
    return cpus;
}

bool weft_cpus_run_on(const weft_cpus_t *cpus)
{
    return sched_setaffinity(0, sizeof(*cpus), (const cpu_set_t *)(const void *)cpus) == 0;
}

void weft_cpus_add(weft_cpus_t *to, const weft_cpus_t *more)
{
    for (int i = 0; i < WEFT_CPU_WORDS; i++)
        to->words[i] |= more->words[i];
}

int weft_cpus_count(const weft_cpus_t *cpus)
{
    int count = 0;
    for (int i = 0; i < WEFT_CPU_WORDS; i++)
        count += __builtin_popcountll(cpus->words[i]);
    return count;
}

/* "quota period" in microseconds, in one file (version 2 of control groups) or two (version 1). */
static int read_quota(const char *quota_path, const char *period_path)
{
    long quota = -1, period = 100000;
    FILE *file = fopen(quota_path, "re");
    if (file == NULL)
        return INT_MAX;
    int fields = fscanf(file, "%ld %ld", &quota, &period);
    fclose(file);
    if (period_path != NULL && (file = fopen(period_path, "re")) != NULL) {
        if (fscanf(file, "%ld", &period) != 1)
            period = 100000;
        fclose(file);
    }
    if (fields < 1 || quota <= 0 || period <= 0)
        return INT_MAX;
    return (int)((quota + period - 1) / period);
}

/* The path of this process's group: the line "0::/path" of /proc/self/cgroup. */
static void own_group(char *out, size_t bytes)
{
    out[0] = '\0';
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return;
    char line[512];
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, bytes, "%s", line + 3);
        }
    }
    fclose(file);
}

int weft_cpu_quota(void)
{
    char group[512], path[600];
    own_group(group, sizeof(group));
    int least =
        read_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    /* The quota of any group above this process's group limits the process too. */
    for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
        if (end == NULL)
            return least;
        *end = '\0';
        snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
        int quota = read_quota(path, NULL);
        if (quota < least)
            least = quota;
    }
}

/* "0.20 0.18 0.12 1/80 11206": the fourth number. */
int weft_cpu_runnable(void)
{
    int runnable;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file == NULL)
        return -1;
    if (fscanf(file, "%*f %*f %*f %d/", &runnable) != 1)
        runnable = -1;
    fclose(file);
    return runnable;
}

bool weft_cpu_gets_dirty_sooner(void)
{
#ifdef __x86_64__
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}
