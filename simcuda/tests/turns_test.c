/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of two processes on one device. */
#include "case.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { QUERIES = 2000 };

/* A kernel that runs until the returned flag is 1. */
static _Atomic int *hold(CUstream stream)
{
    _Atomic int *flags; /* it has begun; it may end */
    OK(cuMemAllocHost((void **)&flags, 2 * sizeof(int)));
    memset((void *)flags, 0, 2 * sizeof(int));
    hold_args_t args = {(uint64_t)(uintptr_t)&flags[0], (uint64_t)(uintptr_t)&flags[1]};
    void *parameters[] = {&args};
    OK(cuLaunchKernel(test_kernel("test_hold"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    while (atomic_load(&flags[0]) == 0)
        sched_yield();
    return &flags[1];
}

/* A kernel of the exporter runs from the first meeting to the second one, which begins when the
 * importer has seen what its own kernels do meanwhile. */
static void hold_device(int peer)
{
    open_device(0);
    _Atomic int *flag = hold(NULL);
    meet(peer);
    meet(peer);
    atomic_store(flag, 1);
    OK(cuCtxSynchronize());
}

static void expect_waiting(int peer)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(10, 3);
    meet(peer);
    OK(launch_add(memory, memory, 10, NULL));
    for (int i = 0; i < QUERIES; i++)
        GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    meet(peer);
    SAME(int_at(memory), 6);
}

static void expect_running(int ordinal, int peer)
{
    open_device(ordinal);
    CUdeviceptr memory = ints_on_device(10, 3);
    meet(peer);
    OK(launch_add(memory, memory, 10, NULL));
    SAME(int_at(memory), 6);
    meet(peer);
}

static void expect_running_here(int peer)
{
    expect_running(0, peer);
}

static void expect_running_elsewhere(int peer)
{
    expect_running(1, peer);
}

static void one_at_a_time(void)
{
    run_two(hold_device, expect_waiting);
}

static void side_by_side(void)
{
    run_two(hold_device, expect_running_here);
}

static void on_another_device(void)
{
    run_two(hold_device, expect_running_elsewhere);
}

/* The copies of a process need no turn. */
static void copy_meanwhile(int peer)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(10, 3);
    meet(peer);
    SAME(int_at(memory + 4), 3);
    meet(peer);
}

static void copies_meanwhile(void)
{
    run_two(hold_device, copy_meanwhile);
}

/* The turn of a process that has gone is over. */
static void end_in_turn(int peer)
{
    open_device(0);
    hold(NULL);
    meet(peer);
    _exit(0);
}

static void go_on(int peer)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(10, 3);
    meet(peer);
    OK(launch_add(memory, memory, 10, NULL));
    SAME(int_at(memory), 6);
}

static void turn_of_the_dead(void)
{
    run_two(go_on, end_in_turn);
}

/* Kernels of one process do not wait for each other. Loading would, so it comes first. */
static void within_a_process(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(10, 3);
    CUfunction add = test_kernel("test_add");
    CUstream stream;
    add_args_t args = {memory, memory, 10};
    void *parameters[] = {&args};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuFuncLoad(add));
    _Atomic int *flag = hold(stream);
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    OK(cuStreamSynchronize(NULL));
    atomic_store(flag, 1);
    OK(cuCtxSynchronize());
    SAME(int_at(memory), 6);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"one at a time", "turns=1,late=0", one_at_a_time, 0},
        {"side by side", "late=0", side_by_side, 0},
        {"side by side under MPS", "turns=1,mps=1,late=0", side_by_side, 0},
        {"on another device", "turns=1,devices=2,late=0", on_another_device, 0},
        {"copies meanwhile", "turns=1,late=0", copies_meanwhile, 0},
        {"the turn of a process that has ended", "turns=1,late=0", turn_of_the_dead, 0},
        {"within a process", "turns=1,late=0", within_a_process, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
