/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules, launches, what kernels may touch, and planned failures. */
#include "case.h"

#include <signal.h>

static void found_by_name(void)
{
    CUmodule module;
    CUfunction function;
    open_device(0);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
    OK(cuModuleLoadData(&module, kernel_image));
    GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "none"));
    OK(cuModuleGetFunction(&function, module, "test_add"));
    OK(cuModuleUnload(module));
    GIVES(CUDA_ERROR_INVALID_HANDLE,
          cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void one_result(void)
{
    open_device(0);
    CUdeviceptr to = ints_on_device(1000, 3), from = ints_on_device(1000, 4);
    OK(launch_add(to, from, 1000, NULL));
    SAME(int_at(to + 3996), 7);
    add_args_t args = {to, from, 10};
    size_t bytes = sizeof(args);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(test_kernel("test_add"), 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    SAME(int_at(to + 36), 11);
    SAME(int_at(to + 40), 7);
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(test_kernel("test_add"), 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, extra));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(test_kernel("test_add"), 0, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
}

static void of_a_library(void)
{
    CUlibrary library;
    CUkernel kernel;
    open_device(1);
    OK(cuLibraryLoadData(&library, kernel_image, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "test_add"));
    CUdeviceptr memory = ints_on_device(10, 3);
    add_args_t args = {memory, memory, 10};
    void *parameters[] = {&args};
    OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
    SAME(int_at(memory), 6);
    OK(cuLibraryUnload(library));
}

/* After an illegal address nothing works in this context, but others work. */
static void expect_broken(CUdeviceptr memory)
{
    CUdeviceptr other;
    CUstream stream;
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc(&other, 8));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoD(memory, memory, 8));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamCreate(&stream, 0));
    open_device(1);
    OK(cuMemAlloc(&other, 8));
    OK(cuCtxSynchronize());
}

static void beyond_the_end(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(1000, 3);
    OK(launch_add(memory, memory, 1001, NULL));
    expect_broken(memory);
}

static void of_the_host(void)
{
    int plain[4] = {0};
    open_device(0);
    CUdeviceptr memory = ints_on_device(1000, 3);
    OK(launch_add(memory, (CUdeviceptr)plain, 4, NULL));
    expect_broken(memory);
}

static void freed_before(void)
{
    CUstream stream;
    CUdeviceptr memory;
    open_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&memory, 4000, stream));
    OK(launch_add(memory, memory, 1000, stream));
    OK(cuMemFreeAsync(memory, stream));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(memory, stream));
    OK(launch_add(memory, memory, 1000, stream));
    expect_broken(memory);
}

/* The second stream comes before the memory is there. */
static void allocated_after(void)
{
    CUstream first, second;
    CUdeviceptr memory;
    open_device(0);
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&memory, 4000, first));
    OK(cuMemsetD32Async(memory, 1, 1000, second));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(second));
}

static void asked_for(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(1000, 3);
    OK(launch_add(memory, memory, 1000, NULL));
    OK(cuCtxSynchronize());
    OK(launch_add(memory, memory, 1000, NULL));
    expect_broken(memory);
}

static void of_a_peer(void)
{
    CUcontext other = open_device(1);
    CUdeviceptr theirs = ints_on_device(10, 5);
    open_device(0);
    CUdeviceptr mine = ints_on_device(10, 1);
    OK(cuMemcpyDtoD(mine, theirs, 40)); /* the driver may, kernels may not yet */
    OK(cuCtxEnablePeerAccess(other, 0));
    GIVES(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
    OK(launch_add(mine, theirs, 10, NULL));
    SAME(int_at(mine), 10);
    OK(cuCtxDisablePeerAccess(other));
    GIVES(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
    OK(launch_add(mine, theirs, 10, NULL));
    expect_broken(mine);
}

static void of_no_peer(void)
{
    CUcontext other = open_device(1);
    open_device(0);
    GIVES(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(other, 0));
}

/* ---- failures ---- */

static void nth_call(void)
{
    CUdeviceptr memory;
    open_device(0);
    OK(cuMemAlloc(&memory, 8));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, 8));
    OK(cuMemAlloc(&memory, 8));
    GIVES(CUDA_ERROR_UNKNOWN, cuStreamSynchronize(NULL));
    GIVES(CUDA_ERROR_UNKNOWN, cuStreamSynchronize(NULL));
}

static void all_is_well(int peer)
{
    OK(cuInit(0));
    meet(peer);
}

static void cannot_begin(int peer)
{
    GIVES(CUDA_ERROR_SYSTEM_NOT_READY, cuInit(0));
    meet(peer);
}

static void one_rank_only(void)
{
    run_two(all_is_well, cannot_begin);
}

static void killed_at_the_second(void)
{
    CUdeviceptr memory;
    open_device(0);
    OK(cuMemAlloc(&memory, 8));
    cuMemAlloc(&memory, 8);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"found by name", "", found_by_name, 0},
        {"one result", "", one_result, 0},
        {"of a library", "devices=2", of_a_library, 0},
        {"beyond the end", "devices=2", beyond_the_end, 0},
        {"of the host", "devices=2", of_the_host, 0},
        {"freed before", "devices=2", freed_before, 0},
        {"allocated after", "lazy,late=100", allocated_after, 0},
        {"asked for", "devices=2,fault=2", asked_for, 0},
        {"of a peer", "devices=2", of_a_peer, 0},
        {"of no peer", "devices=2,peers=none", of_no_peer, 0},
        {"the nth call", "fail=cuMemAlloc:2:2,fail=cuStreamSynchronize:1+", nth_call, 0},
        {"one rank only", "fail=cuInit:1:802@1", one_rank_only, 0},
        {"killed", "kill=cuMemAlloc:2", killed_at_the_second, SIGKILL},
        {"ended by another signal", "kill=cuMemAlloc:2:11@0", killed_at_the_second, SIGSEGV},
        {"another rank killed", "kill=cuMemAlloc:2@1", killed_at_the_second, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
