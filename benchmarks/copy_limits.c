/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast memory is copied by libc, by Weft's loops and by the kernel (process_vm_readv of this
 * process itself), in GB/s, by size and by how far behind the source, modulo the page, the
 * destination lies. "near": the source was read by this core before; "far": another core has just
 * written it. The best of several batches. Without MPI; make benchmarks builds it.
 */
#define _GNU_SOURCE
#include "base/copy.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 4 << 20, BATCH_BYTES = 4 << 20, BATCHES = 9, WAYS_MOST = 8 };

typedef struct way {
    const char *name;
    weft_copy_fn_t copy;
} way_t;

static const size_t copy_sizes[] = {512, 4 << 10, 16 << 10, 64 << 10, 1 << 20, MOST};
static const size_t copy_distances[] = {0, 1, 16, 31, 32, 64, 2048, 4080};
enum {
    SIZES = sizeof(copy_sizes) / sizeof(copy_sizes[0]),
    DISTANCES = sizeof(copy_distances) / sizeof(copy_distances[0])
};

static char *source, *target;

/* The size that the other core is to write; 0: it has written. */
static _Alignas(128) atomic_size_t to_write;

static void copy_by_libc(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void copy_by_kernel(void *to, const void *from, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0)
        memset(to, 0, 1);
}

static int list_ways(way_t *ways)
{
    int count = 0;

    ways[count++] = (way_t){"libc", copy_by_libc};
    for (weft_simd_t set = WEFT_SIMD_BASE; set < WEFT_SIMD_SETS; set++)
        if (weft_simd_is_available(set))
            ways[count++] = (way_t){weft_simd_name(set), weft_copy_loops[set]};
    ways[count++] = (way_t){"kernel", copy_by_kernel};
    return count;
}

/* The first two cores that this process may use; false if it has fewer. */
static bool find_two_cores(int cores[2])
{
    cpu_set_t set;
    int found = 0;

    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &set))
            cores[found++] = cpu;
    return found == 2;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *write_source(void *core)
{
    pin(*(int *)core);
    for (int value = 0;; value++) {
        size_t bytes;

        while ((bytes = atomic_load_explicit(&to_write, memory_order_acquire)) == 0)
            ;
        memset(source, value, bytes);
        atomic_store_explicit(&to_write, 0, memory_order_release);
    }
    return NULL;
}

static void have_written(size_t bytes)
{
    atomic_store_explicit(&to_write, bytes, memory_order_release);
    while (atomic_load_explicit(&to_write, memory_order_acquire) != 0)
        ;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of one batch. */
static double time_batch(weft_copy_fn_t copy, char *to, size_t bytes, bool is_far)
{
    double taken_s = 0;

    for (size_t done = 0; done < BATCH_BYTES; done += bytes) {
        if (is_far)
            have_written(bytes);
        double begin_s = now_s();
        /* The clock is read seldom where copies are short. */
        for (; !is_far && done + bytes < BATCH_BYTES; done += bytes)
            copy(to, source, bytes);
        copy(to, source, bytes);
        taken_s += now_s() - begin_s;
    }
    return taken_s;
}

static double speed(weft_copy_fn_t copy, size_t distance, size_t bytes, bool is_far)
{
    double best_s = time_batch(copy, target + distance, bytes, is_far);

    for (int i = 1; i < BATCHES; i++) {
        double taken_s = time_batch(copy, target + distance, bytes, is_far);

        best_s = taken_s < best_s ? taken_s : best_s;
    }
    return BATCH_BYTES / best_s * 1e-9;
}

static void print_table(bool is_far)
{
    way_t ways[WAYS_MOST];
    int count = list_ways(ways);

    printf("\n%s: GB/s by bytes behind the source, modulo %d\n%9s %-7s", is_far ? "far" : "near",
           PAGE, "bytes", "by");
    for (int d = 0; d < DISTANCES; d++)
        printf(" %6zu", copy_distances[d]);
    printf("\n");
    for (int s = 0; s < SIZES; s++)
        for (int w = 0; w < count; w++) {
            printf("%9zu %-7s", copy_sizes[s], ways[w].name);
            for (int d = 0; d < DISTANCES; d++)
                printf(" %6.1f", speed(ways[w].copy, copy_distances[d], copy_sizes[s], is_far));
            printf("\n");
        }
}

int main(void)
{
    pthread_t writer;
    int cores[2];
    bool has_two_cores = find_two_cores(cores);

    source = aligned_alloc(PAGE, MOST);
    target = aligned_alloc(PAGE, MOST + PAGE);
    if (source == NULL || target == NULL)
        return 1;
    memset(source, 1, MOST);
    memset(target, 2, MOST + PAGE);
    pin(cores[0]);
    print_table(false);
    if (has_two_cores && pthread_create(&writer, NULL, write_source, &cores[1]) == 0)
        print_table(true);
    return 0;
}
