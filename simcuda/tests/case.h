/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the simulator's tests. Each case runs in a process of its own, since a process opens
 * the driver once; the first check that fails ends the process. With REAL_DRIVER set, the cases run
 * on the machine's driver, except those with words other than devices=N, which a real driver cannot
 * follow. So the tests show whether the simulator keeps to the driver's rules. */
#ifndef SIMCUDA_CASE_H
#define SIMCUDA_CASE_H

#include "kernels_for_tests.h"

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct test_case {
    const char *name;
    const char *words; /* the value of SIMCUDA */
    void (*run)(void);
    int signal; /* the signal that ends it; 0: it returns */
} test_case_t;

/** Runs all cases up to the one without a name; the program's exit code. */
int run_cases(const test_case_t *cases);

/** Real drivers keep some memory that is freed, so there a test cannot tell how much is free. */
bool is_driver_real(void);

#define CHECK(claim) check_claim(claim, #claim, __FILE__, __LINE__)
#define SAME(got, expected)                                                                        \
    check_same((long long)(got), (long long)(expected), #got, __FILE__, __LINE__)
#define OK(call)              check_code(call, CUDA_SUCCESS, #call, __FILE__, __LINE__)
#define GIVES(expected, call) check_code(call, expected, #call, __FILE__, __LINE__)

void check_claim(bool claim, const char *text, const char *file, int line);
void check_same(long long got, long long expected, const char *text, const char *file, int line);
void check_code(CUresult got, CUresult expected, const char *text, const char *file, int line);

/** cuInit, and the primary context of a device made current. */
CUcontext open_device(int ordinal);
/** The image of the kernels for tests. The simulator ignores it, and finds the kernels in the
 * program. */
extern const char kernel_image[];
/** A kernel of a new module in the current context. */
CUfunction test_kernel(const char *name);
/** Launches to[i] += from[i] for `count` ints. */
CUresult launch_add(CUdeviceptr to, CUdeviceptr from, size_t count, CUstream stream);
/** Device memory with `count` times `value`; the device is idle afterwards. */
CUdeviceptr ints_on_device(size_t count, int value);
/** The int at a device address, by a synchronous copy. */
int int_at(CUdeviceptr address);

/* ---- two processes ---- */

/** Runs `exporter` and `importer` in two processes, whose `peer` is a socket to the other. */
void run_two(void (*exporter)(int peer), void (*importer)(int peer));
void send_to(int peer, const void *data, size_t bytes);
void receive_from(int peer, void *data, size_t bytes);
void send_fd(int peer, int fd);
int receive_fd(int peer);
/** Returns in both processes when both have called it. */
void meet(int peer);

#endif
