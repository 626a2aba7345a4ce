/* SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_gate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US  300000
#define PINNED_BYTES 4096

gpu_gate_t gpu;

const char gpu_empty_kernel[] =
    ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry weft_empty()\n{\nret;\n}\n";

void gpu_answer(const char *format, ...)
{
    va_list arguments;

    printf("{\"question\": \"%s\", \"answer\": \"", gpu.question);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\"}\n");
    fflush(stdout);
}

const char *gpu_code_name(CUresult code)
{
    const char *name = NULL;

    return cuGetErrorName(code, &name) == CUDA_SUCCESS ? name : "an unknown error";
}

void gpu_must(CUresult code, const char *call)
{
    if (code == CUDA_SUCCESS)
        return;
    gpu_answer("%.*s: %s", (int)strcspn(call, "("), call, gpu_code_name(code));
    _exit(0);
}

double gpu_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

void gpu_open(void)
{
    void *pinned;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    OK(cuCtxSetCurrent(gpu.context));
    OK(cuStreamCreate(&gpu.gated, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&gpu.other, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&pinned, PINNED_BYTES, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    memset(pinned, 0, PINNED_BYTES);
    gpu.words = pinned;
    OK(cuMemHostGetDevicePointer(&gpu.gate, pinned, 0));
    gpu.mark = gpu.gate + GPU_MARK * sizeof(unsigned);
}

void gpu_wait_at_gate(CUstream stream, unsigned value)
{
    OK(cuStreamWaitValue32(stream, gpu.gate, value, CU_STREAM_WAIT_VALUE_GEQ));
}

bool gpu_comes(const volatile unsigned *word, unsigned value)
{
    double begin_us = gpu_now_us();

    while (*word < value)
        if (gpu_now_us() - begin_us > PATIENCE_US)
            return false;
    return true;
}
