/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of a GPU and its driver, without MPI: copies on the device by size, copies to and from
 * pinned host memory, a kernel launch, a pointer query, IPC handles, and what it costs when two
 * processes take turns on one device. Prints one JSON object a line: {"limit", "bytes", "us"}.
 *
 *   gpu_limits [LARGEST-BYTES]     default 268435456
 *
 * There are two processes: the child owns memory that the parent opens, and works in turns with it.
 */
#include "bench_device.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUDGET_US   30000.0 /* about the time for one size */
#define LEAST_RUNS  5
#define MOST_RUNS   2000
#define TURNS       200
#define BUFFER_ID   7 /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
#define MEMORY_TYPE 2 /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
#define LAZY_PEER   1 /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */

typedef unsigned long long address_t;

typedef struct handle {
    char bytes[64]; /* CUipcMemHandle */
} handle_t;

/* Shared by the two processes. */
typedef struct turns {
    _Atomic int turn; /* counts up; even: the parent's */
    handle_t handle;
} turns_t;

static struct {
    int (*copy)(address_t to, address_t from, size_t bytes, void *stream);
    int (*wait)(void *stream);
    int (*load_module)(void **out, const void *image);
    int (*get_function)(void **out, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared_bytes, void *stream, void **arguments, void **extra);
    int (*query)(void *out, int attribute, address_t address);
    int (*query_many)(unsigned count, const int *attributes, void **out, address_t address);
    int (*get_handle)(handle_t *out, address_t address);
    int (*open_handle)(address_t *out, handle_t handle, unsigned flags);
    int (*close_handle)(address_t address);
} cuda;

/* The arguments of an operation that is measured. */
typedef struct subject {
    void *to;
    const void *from;
    size_t bytes;
    handle_t handle;
} subject_t;

static void *kernel; /* NULL: the driver did not take it */

/* PTX, which any driver compiles for its device. */
static const char empty_kernel[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry weft_empty()\n{\nret;\n}\n";

static void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "gpu_limits: %s: error %d\n", what, result);
    exit(1);
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void say(const char *limit, size_t bytes, double us)
{
    printf("{\"limit\": \"%s\", \"bytes\": %zu, \"us\": %.4f}\n", limit, bytes, us);
    fflush(stdout);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median microseconds of one call. */
static double median_us(void (*work)(const subject_t *), const subject_t *subject)
{
    static double times[MOST_RUNS];
    double begin_us = now_us();
    int runs = 0;

    work(subject); /* the first call pays for mappings */
    while (runs < MOST_RUNS && (runs < LEAST_RUNS || now_us() - begin_us < BUDGET_US)) {
        double before_us = now_us();

        work(subject);
        times[runs++] = now_us() - before_us;
    }
    qsort(times, (size_t)runs, sizeof(times[0]), compare_doubles);
    return times[runs / 2];
}

static void copy_on_device(const subject_t *s)
{
    must(cuda.copy((address_t)(uintptr_t)s->to, (address_t)(uintptr_t)s->from, s->bytes, NULL),
         "cuMemcpyDtoDAsync");
    must(cuda.wait(NULL), "cuStreamSynchronize");
}

static void copy_to_host(const subject_t *s)
{
    bench_device_get(s->to, s->from, s->bytes);
}

static void copy_from_host(const subject_t *s)
{
    bench_device_put(s->to, s->from, s->bytes);
}

static void launch_and_wait(const subject_t *s)
{
    (void)s;
    must(cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    must(cuda.wait(NULL), "cuStreamSynchronize");
}

static void wait_only(const subject_t *s)
{
    (void)s;
    must(cuda.wait(NULL), "cuStreamSynchronize");
}

static void query_one(const subject_t *s)
{
    unsigned type = 0;

    must(cuda.query(&type, MEMORY_TYPE, (address_t)(uintptr_t)s->from), "cuPointerGetAttribute");
}

static void query_several(const subject_t *s)
{
    static const int attributes[] = {MEMORY_TYPE, BUFFER_ID};
    unsigned type = 0;
    unsigned long long id = 0;
    void *out[] = {&type, &id};

    must(cuda.query_many(2, attributes, out, (address_t)(uintptr_t)s->from),
         "cuPointerGetAttributes");
}

static void open_and_close(const subject_t *s)
{
    address_t mapped;

    must(cuda.open_handle(&mapped, s->handle, LAZY_PEER), "cuIpcOpenMemHandle");
    must(cuda.close_handle(mapped), "cuIpcCloseMemHandle");
}

static void say_sizes(const char *limit, void (*work)(const subject_t *), subject_t *s,
                      size_t largest)
{
    for (size_t bytes = 8; bytes <= largest; bytes *= bytes < 64 ? 8 : 4) {
        s->bytes = bytes;
        say(limit, bytes, median_us(work, s));
    }
}

static void load_driver(void)
{
    static const struct {
        const char *name;
        void *to;
    } functions[] = {
        {"cuMemcpyDtoDAsync_v2", &cuda.copy},
        {"cuStreamSynchronize", &cuda.wait},
        {"cuModuleLoadData", &cuda.load_module},
        {"cuModuleGetFunction", &cuda.get_function},
        {"cuLaunchKernel", &cuda.launch},
        {"cuPointerGetAttribute", &cuda.query},
        {"cuPointerGetAttributes", &cuda.query_many},
        {"cuIpcGetMemHandle", &cuda.get_handle},
        {"cuIpcOpenMemHandle_v2", &cuda.open_handle},
        {"cuIpcCloseMemHandle", &cuda.close_handle},
    };
    void *module;

    if (!bench_device_open(0))
        exit(77);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        *(void **)functions[i].to = bench_device_function(functions[i].name);
    if (cuda.load_module(&module, empty_kernel) != 0 ||
        cuda.get_function(&kernel, module, "weft_empty") != 0)
        kernel = NULL;
}

static void wait_turn(turns_t *turns, int turn)
{
    while (atomic_load(&turns->turn) < turn)
        ;
}

/* The smallest piece of work: a kernel, or a copy where there is none. */
static void small_work(const subject_t *s)
{
    (kernel != NULL ? launch_and_wait : copy_on_device)(s);
}

/* The second process: offers memory, then works whenever it is its turn. */
static void be_child(turns_t *turns, size_t largest)
{
    subject_t s = {.bytes = 8};

    load_driver();
    s.to = bench_device_alloc(largest, false);
    s.from = bench_device_alloc(8, false);
    bench_device_set(s.to, 1, largest);
    must(cuda.get_handle(&turns->handle, (address_t)(uintptr_t)s.to), "cuIpcGetMemHandle");
    small_work(&s);
    atomic_store(&turns->turn, 2);
    for (int turn = 3; turn < 2 * TURNS; turn += 2) {
        wait_turn(turns, turn);
        small_work(&s);
        atomic_store(&turns->turn, turn + 1);
    }
    wait_turn(turns, 2 * TURNS + 1); /* its memory lives until the parent has done with it */
}

static void measure_alone(size_t largest)
{
    void *a = bench_device_alloc(largest, false), *b = bench_device_alloc(largest, false);
    void *pinned = bench_device_alloc_pinned(largest);
    subject_t on_device = {.to = a, .from = b}, to_host = {.to = pinned, .from = a};
    subject_t from_host = {.to = a, .from = pinned}, of_host = {.from = &on_device};

    memset(pinned, 1, largest);
    bench_device_set(b, 1, largest);
    say_sizes("copy on device", copy_on_device, &on_device, largest);
    say_sizes("copy to pinned host", copy_to_host, &to_host, largest);
    say_sizes("copy from pinned host", copy_from_host, &from_host, largest);
    if (kernel != NULL)
        say("launch and wait", 0, median_us(launch_and_wait, &on_device));
    say("wait for an idle stream", 0, median_us(wait_only, &on_device));
    say("query one attribute", 0, median_us(query_one, &on_device));
    say("query two attributes", 0, median_us(query_several, &on_device));
    say("query two, host memory", 0, median_us(query_several, &of_host));
    bench_device_free(a);
    bench_device_free(b);
    bench_device_free_pinned(pinned);
}

/* Both processes work in turns; half a round is one piece of work and one change of the process. */
static void measure_turns(turns_t *turns)
{
    subject_t s = {
        .to = bench_device_alloc(8, false), .from = bench_device_alloc(8, false), .bytes = 8};
    double begin_us, alone_us = median_us(small_work, &s);

    begin_us = now_us();
    for (int turn = 2; turn < 2 * TURNS; turn += 2) {
        wait_turn(turns, turn);
        small_work(&s);
        atomic_store(&turns->turn, turn + 1);
    }
    wait_turn(turns, 2 * TURNS);
    say("small work alone", 0, alone_us);
    say("small work in turns of two processes", 0, (now_us() - begin_us) / (2 * (TURNS - 1)));
}

static void measure_ipc(turns_t *turns, size_t largest)
{
    subject_t s = {.handle = turns->handle};
    address_t mapped;

    say("open and close IPC handle", largest, median_us(open_and_close, &s));
    must(cuda.open_handle(&mapped, s.handle, LAZY_PEER), "cuIpcOpenMemHandle");
    s.from = (void *)(uintptr_t)mapped;
    s.to = bench_device_alloc(largest, false);
    say_sizes("copy from another process", copy_on_device, &s, largest);
    must(cuda.close_handle(mapped), "cuIpcCloseMemHandle");
}

int main(int argc, char **argv)
{
    size_t largest = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : (size_t)256 << 20;
    turns_t *turns =
        mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    pid_t parent, child;

    if (largest < 8 || turns == MAP_FAILED) {
        fprintf(stderr, "usage: gpu_limits [LARGEST-BYTES], 8 or more\n");
        return 2;
    }
    parent = getpid();
    child = fork(); /* before the driver is loaded, since it does not survive a fork */
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            be_child(turns, largest);
        return 0;
    }
    load_driver();
    measure_alone(largest);
    while (atomic_load(&turns->turn) < 2)
        if (waitpid(child, &status, WNOHANG) != 0)
            return 1; /* the child has printed why */
    measure_turns(turns);
    measure_ipc(turns, largest);
    atomic_store(&turns->turn, 2 * TURNS + 1);
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
