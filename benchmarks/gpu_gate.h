/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gpu_questions.c asks a CUDA driver with: answers, and a gate that streams wait at, a word of
 * pinned memory. A process asks one question.
 */
#ifndef GPU_GATE_H
#define GPU_GATE_H

#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>

enum { GPU_GATE = 0, GPU_MARK = 16 }; /* indices in words */

typedef struct gpu_gate {
    const char *question;
    CUcontext context;
    CUstream gated, other; /* the first is for those who wait */
    volatile unsigned *words;
    CUdeviceptr gate, mark; /* words[GPU_GATE], which opens it, and [GPU_MARK], for the device */
} gpu_gate_t;

extern gpu_gate_t gpu;

/* Ends the process with an answer unless a call of the driver succeeds. */
#define OK(call) gpu_must(call, #call)
void gpu_must(CUresult code, const char *call);
const char *gpu_code_name(CUresult code);

/* Prints {"question", "answer"}. */
__attribute__((format(printf, 1, 2))) void gpu_answer(const char *format, ...);

double gpu_now_us(void);

/* Fills in all but the question; the gate is shut. */
void gpu_open(void);
/* What comes later in this stream waits until words[GPU_GATE] is `value` or more. */
void gpu_wait_at_gate(CUstream stream, unsigned value);

/* Waits some time for a word to be `value` or more. If it is less then, it is taken not to get
 * there before the gate opens. */
bool gpu_comes(const volatile unsigned *word, unsigned value);

/* PTX with the kernel weft_empty. */
extern const char gpu_empty_kernel[];

/* Questions: how long small steps take (gpu_steps.c), and about multicast (gpu_multicast.c). */
void gpu_ask_times(int unused);
void gpu_ask_multicast(int unused);

#endif
