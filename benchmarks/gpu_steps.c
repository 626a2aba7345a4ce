/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the steps take of which collectives on a device consist: medians. */
#include "gpu_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNS 200

static CUfunction kernel;
static CUdeviceptr from, to;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void say_median(const char *limit, void (*step)(unsigned run))
{
    double times[RUNS];

    for (unsigned i = 0; i < RUNS; i++) {
        double begin_us = gpu_now_us();

        step(i + 1);
        times[i] = gpu_now_us() - begin_us;
    }
    OK(cuStreamSynchronize(gpu.other));
    qsort(times, RUNS, sizeof(times[0]), compare_doubles);
    printf("{\"limit\": \"%s\", \"bytes\": 0, \"us\": %.4f}\n", limit, times[RUNS / 2]);
    fflush(stdout);
}

static void await(unsigned run)
{
    while (gpu.words[GPU_MARK] != run)
        ;
}

static void step_write(unsigned run)
{
    OK(cuStreamWriteValue32(gpu.other, gpu.mark, run, 0));
    await(run);
}

static void step_kernel_and_write(unsigned run)
{
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, gpu.other, NULL, NULL));
    step_write(run);
}

static void step_launch_only(unsigned run)
{
    (void)run;
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, gpu.other, NULL, NULL));
}

static void step_copy_and_write(unsigned run)
{
    OK(cuMemcpyDtoDAsync(to, from, 8, gpu.other));
    step_write(run);
}

static void CUDA_CB say_here(void *run)
{
    gpu.words[GPU_MARK] = (unsigned)(size_t)run;
}

static void step_host_function(unsigned run)
{
    OK(cuLaunchHostFunc(gpu.other, say_here, (void *)(size_t)run));
    await(run);
}

/* From the store that opens the gate to the word that the stream writes behind it. */
static void say_gate_median(void)
{
    double times[RUNS];

    for (unsigned i = 0; i < RUNS; i++) {
        double begin_us;

        gpu_wait_at_gate(gpu.other, i + 1);
        OK(cuStreamWriteValue32(gpu.other, gpu.mark, i + 1, 0));
        usleep(100); /* the device has come to the gate */
        begin_us = gpu_now_us();
        gpu.words[GPU_GATE] = i + 1;
        await(i + 1);
        times[i] = gpu_now_us() - begin_us;
    }
    qsort(times, RUNS, sizeof(times[0]), compare_doubles);
    printf("{\"limit\": \"open a gate, word behind it\", \"bytes\": 0, \"us\": %.4f}\n",
           times[RUNS / 2]);
}

void gpu_ask_times(int unused)
{
    CUmodule module;

    (void)unused;
    gpu_open();
    OK(cuMemAlloc(&from, 8));
    OK(cuMemAlloc(&to, 8));
    say_median("word by a stream", step_write);
    say_median("8 B on device, word behind it", step_copy_and_write);
    say_median("host function", step_host_function);
    say_gate_median();
    OK(cuModuleLoadData(&module, gpu_empty_kernel));
    OK(cuModuleGetFunction(&kernel, module, "weft_empty"));
    step_kernel_and_write(RUNS + 1); /* the first one loads it */
    say_median("call of a launch alone", step_launch_only);
    say_median("launch, word behind it", step_kernel_and_write);
}
