/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What communication within this machine cannot be faster than: what a line takes from core to
 * core, what waiting and waking cost, what fresh pages cost, and how fast two processes on two
 * cores pass data on, through rings of several sizes and by the kernel. Medians of batches. Without
 * MPI; make benchmarks builds it. Latencies are one way.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    KIB = 1024,
    PAGE = 4096,
    BATCHES = 9,
    TRIPS = 2000,
    RING_MOST = 4096 * KIB,
    PACKET = 16 * KIB,
    STREAM_BYTES = 32768 * KIB, /* that pass in a batch of a copy */
    BUFFER = 1024 * KIB,        /* of each process, used again and again */
    FRESH_BYTES = 2048 * KIB,
};

/* What the two processes share. */
typedef struct area {
    _Alignas(128) atomic_uint turn;        /* even: the parent's, odd: the child's */
    _Alignas(128) atomic_uint_fast64_t in; /* bytes put into the ring */
    _Alignas(128) atomic_uint_fast64_t out;
    _Alignas(PAGE) char ring[RING_MOST];
} area_t;

typedef double (*batch_fn_t)(size_t argument);

static area_t *area;
static char *buffer; /* at the same address in both */
static int cores[2], core_count;

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

static void find_cores(void)
{
    cpu_set_t set;

    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && core_count < 2; cpu++)
        if (CPU_ISSET(cpu, &set))
            cores[core_count++] = cpu;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *what, double value, const char *unit)
{
    printf("%-52s %9.*f %s\n", what, value < 100 ? 1 : 0, value, unit);
}

static double median_of(batch_fn_t batch, size_t argument)
{
    double values[BATCHES];

    for (int i = 0; i < BATCHES; i++)
        values[i] = batch(argument);
    qsort(values, BATCHES, sizeof(values[0]), ascending);
    return values[BATCHES / 2];
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static long futex(atomic_uint *word, int op, unsigned value)
{
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/* ---- one process: nanoseconds of a call ---- */

#define TIME_CALLS(name, call)                                                                     \
    static double name(size_t unused)                                                              \
    {                                                                                              \
        (void)unused;                                                                              \
        double begin_ns = now_ns();                                                                \
        for (int i = 0; i < TRIPS; i++)                                                            \
            call;                                                                                  \
        return (now_ns() - begin_ns) / TRIPS;                                                      \
    }

TIME_CALLS(time_clock, now_ns())
TIME_CALLS(time_relax, relax())
TIME_CALLS(time_yield, sched_yield())
TIME_CALLS(time_idle_wake, futex(&area->turn, FUTEX_WAKE, 1))

/* Of a page of shared memory; `is_mapped`: another mapping has it, and it is only read. */
static double time_page(size_t is_mapped)
{
    int fd = memfd_create("limits", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, FRESH_BYTES) != 0)
        return 0;
    char *first = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *second = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    double begin_ns = now_ns();
    for (size_t at = 0; at < FRESH_BYTES; at += PAGE)
        ((volatile char *)first)[at] = 1;
    if (is_mapped) {
        begin_ns = now_ns();
        for (size_t at = 0; at < FRESH_BYTES; at += PAGE)
            (void)((volatile char *)second)[at];
    }
    double taken_ns = now_ns() - begin_ns;
    munmap(first, FRESH_BYTES);
    munmap(second, FRESH_BYTES);
    close(fd);
    return taken_ns / (FRESH_BYTES / PAGE);
}

/* ---- two processes: `wait` until it is one's turn, and pass it on ---- */

typedef enum way { BY_LOOKING, BY_YIELDING, BY_SLEEPING } way_t;

static void await_turn(unsigned turn, way_t way)
{
    unsigned seen;

    while ((seen = atomic_load_explicit(&area->turn, memory_order_acquire)) != turn) {
        if (way == BY_YIELDING)
            sched_yield();
        else if (way == BY_SLEEPING)
            futex(&area->turn, FUTEX_WAIT, seen);
    }
}

static void pass_turn(unsigned turn, way_t way)
{
    atomic_store_explicit(&area->turn, turn, memory_order_release);
    if (way == BY_SLEEPING)
        futex(&area->turn, FUTEX_WAKE, 1);
}

static void answer_turns(size_t way)
{
    for (unsigned i = 0; i < BATCHES * TRIPS; i++) {
        await_turn(2 * i + 1, (way_t)way);
        pass_turn(2 * i + 2, (way_t)way);
    }
}

static double time_turns(size_t way)
{
    unsigned first = atomic_load(&area->turn) / 2;
    double begin_ns = now_ns();

    for (unsigned i = first; i < first + TRIPS; i++) {
        pass_turn(2 * i + 1, (way_t)way);
        await_turn(2 * i + 2, (way_t)way);
    }
    return (now_ns() - begin_ns) / (2.0 * TRIPS);
}

/* ---- two processes: data through a ring; bytes in a nanosecond, which is GB/s ---- */

static void *in_ring(uint64_t at, size_t ring_bytes)
{
    return area->ring + at % ring_bytes;
}

static void fill_ring(size_t ring_bytes)
{
    for (uint64_t at = 0; at < (uint64_t)BATCHES * STREAM_BYTES; at += PACKET) {
        while (at + PACKET > atomic_load_explicit(&area->out, memory_order_acquire) + ring_bytes)
            ;
        memcpy(in_ring(at, ring_bytes), buffer + at % BUFFER, PACKET);
        atomic_store_explicit(&area->in, at + PACKET, memory_order_release);
    }
}

static double time_ring(size_t ring_bytes)
{
    uint64_t at = atomic_load(&area->out), end = at + STREAM_BYTES;
    double begin_ns = now_ns();

    for (; at < end; at += PACKET) {
        while (atomic_load_explicit(&area->in, memory_order_acquire) < at + PACKET)
            ;
        memcpy(buffer + at % BUFFER, in_ring(at, ring_bytes), PACKET);
        atomic_store_explicit(&area->out, at + PACKET, memory_order_release);
    }
    return STREAM_BYTES / (now_ns() - begin_ns);
}

/* ---- two processes: the kernel copies out of the other one ---- */

static pid_t other;

static void write_buffers(size_t bytes)
{
    for (unsigned i = 0; i < BATCHES * (STREAM_BYTES / BUFFER); i++) {
        await_turn(2 * i + 1, BY_LOOKING);
        memset(buffer, (int)i, bytes);
        pass_turn(2 * i + 2, BY_LOOKING);
    }
}

/* The other core has just written what is read, and waits meanwhile. */
static double time_reads(size_t bytes)
{
    unsigned first = atomic_load(&area->turn) / 2, reads = STREAM_BYTES / BUFFER;
    struct iovec to = {buffer, bytes}, from = {buffer, bytes};
    double taken_ns = 0;

    for (unsigned i = first; i < first + reads; i++) {
        pass_turn(2 * i + 1, BY_LOOKING);
        await_turn(2 * i + 2, BY_LOOKING);
        double begin_ns = now_ns();
        if (process_vm_readv(other, &to, 1, &from, 1, 0) != (ssize_t)bytes)
            return 0;
        taken_ns += now_ns() - begin_ns;
    }
    return (double)reads * (double)bytes / taken_ns;
}

/* ---- running a pair ---- */

typedef struct pair {
    const char *unit;
    batch_fn_t batch;     /* the parent takes the time, */
    void (*part)(size_t); /* the child does its part */
} pair_t;

static const pair_t turns = {"ns", time_turns, answer_turns};
static const pair_t streams = {"GB/s", time_ring, fill_ring};
static const pair_t reads = {"GB/s", time_reads, write_buffers};

/* With the child on `core`. */
static void report_pair(const char *what, const pair_t *pair, size_t argument, int core)
{
    atomic_store(&area->turn, 0);
    atomic_store(&area->in, 0);
    atomic_store(&area->out, 0);
    fflush(stdout);
    other = fork();
    if (other == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        pin(core);
        pair->part(argument);
        _exit(0);
    }
    if (other < 0)
        return;
    double value = median_of(pair->batch, argument);
    report(what, value, value == 0 ? "(not allowed here)" : pair->unit);
    kill(other, SIGKILL); /* it may wait for a turn that never comes */
    waitpid(other, NULL, 0);
}

static void report_copies(void)
{
    static const size_t rings[] = {64, 128, 256, 512, 1024, 2048, 4096};
    char what[80];

    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        snprintf(what, sizeof(what), "through a ring of %zu KiB, packets of 16 KiB", rings[i]);
        report_pair(what, &streams, rings[i] * KIB, cores[1]);
    }
    report_pair("by the kernel (process_vm_readv), 64 KiB", &reads, 64 * KIB, cores[1]);
    report_pair("by the kernel (process_vm_readv), 1 MiB", &reads, 1024 * KIB, cores[1]);
}

static void report_calls(void)
{
    report("reading the clock", median_of(time_clock, 0), "ns");
    report("a pause", median_of(time_relax, 0), "ns");
    report("yielding, nobody else on the core", median_of(time_yield, 0), "ns");
    report("waking, nobody asleep", median_of(time_idle_wake, 0), "ns");
    report("a fresh page of shared memory", median_of(time_page, 0), "ns");
    report("a page that another mapping has, read", median_of(time_page, 1), "ns");
}

int main(void)
{
    find_cores();
    area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    buffer = aligned_alloc(PAGE, BUFFER);
    if (area == MAP_FAILED || buffer == NULL)
        return 1;
    memset(area->ring, 1, RING_MOST);
    memset(buffer, 1, BUFFER);
    pin(cores[0]);
    report_calls();
    report_pair("a turn on one core, by yielding", &turns, BY_YIELDING, cores[0]);
    report_pair("a turn on one core, by sleeping", &turns, BY_SLEEPING, cores[0]);
    if (core_count < 2)
        return 0;
    report_pair("a line from core to core", &turns, BY_LOOKING, cores[1]);
    report_pair("a turn on two cores, by sleeping", &turns, BY_SLEEPING, cores[1]);
    report_copies();
    report_pair("a line from core to core, once more", &turns, BY_LOOKING, cores[1]);
    return 0;
}
