/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the simulator's own tests, as src/cuda/kernels makes them for the host. */
#include "cuda/kernels/kernel_on_host.h"

#include "case.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

/* For a real driver, which compiles this text; the simulator takes the functions below. */
const char kernel_image[] = ".version 7.5\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry test_add(.param .align 8 .b8 args[24])\n"
                            "{\n"
                            "    .reg .pred %beyond;\n"
                            "    .reg .b32 %block, %threads, %thread, %x, %y;\n"
                            "    .reg .b64 %to, %from, %count, %i, %wide;\n"
                            "    ld.param.u64 %to, [args];\n"
                            "    ld.param.u64 %from, [args+8];\n"
                            "    ld.param.u64 %count, [args+16];\n"
                            "    mov.u32 %block, %ctaid.x;\n"
                            "    mov.u32 %threads, %ntid.x;\n"
                            "    mov.u32 %thread, %tid.x;\n"
                            "    cvt.u64.u32 %wide, %thread;\n"
                            "    mad.wide.u32 %i, %block, %threads, %wide;\n"
                            "    setp.ge.u64 %beyond, %i, %count;\n"
                            "    @%beyond ret;\n"
                            "    shl.b64 %i, %i, 2;\n"
                            "    add.u64 %to, %to, %i;\n"
                            "    add.u64 %from, %from, %i;\n"
                            "    ld.global.u32 %x, [%to];\n"
                            "    ld.global.u32 %y, [%from];\n"
                            "    add.u32 %x, %x, %y;\n"
                            "    st.global.u32 [%to], %x;\n"
                            "    ret;\n"
                            "}\n"
                            ".visible .entry test_spin(.param .align 8 .b8 args[16])\n"
                            "{\n"
                            "    .reg .pred %differs;\n"
                            "    .reg .b32 %value, %now;\n"
                            "    .reg .b64 %flag;\n"
                            "    ld.param.u64 %flag, [args];\n"
                            "    ld.param.u32 %value, [args+8];\n"
                            "again:\n"
                            "    ld.volatile.global.u32 %now, [%flag];\n"
                            "    setp.ne.u32 %differs, %now, %value;\n"
                            "    @%differs bra again;\n"
                            "    ret;\n"
                            "}\n";

void *(*weft_host_translate)(const void *address);

static int load(uint64_t address)
{
    return *(int *)weft_host_translate((void *)address);
}

static void store(uint64_t address, int value)
{
    *(int *)weft_host_translate((void *)address) = value;
}

/* to[i] += from[i], a thread for each element. */
static void add(const void *given, unsigned blocks, unsigned threads)
{
    const add_args_t *args = given;
    for (uint64_t i = 0; i < (uint64_t)blocks * threads && i < args->count; i++)
        store(args->to + 4 * i, load(args->to + 4 * i) + load(args->from + 4 * i));
}

const weft_kernel_on_host_t test_add_on_host = {"test_add", sizeof(add_args_t), add};

/* Waits until a flag in memory has a value. */
static void spin(const void *given, unsigned blocks, unsigned threads)
{
    const spin_args_t *args = given;
    (void)blocks, (void)threads;
    _Atomic int *flag = weft_host_translate((void *)args->flag);
    while (atomic_load(flag) != args->value)
        sched_yield();
}

const weft_kernel_on_host_t test_spin_on_host = {"test_spin", sizeof(spin_args_t), spin};

/* Says that it runs, and then waits until a flag is 1. The simulator's rules about it are stricter
 * than a real driver's, so there is no text of it. */
static void hold(const void *given, unsigned blocks, unsigned threads)
{
    const hold_args_t *args = given;
    (void)blocks, (void)threads;
    _Atomic int *begun = weft_host_translate((void *)args->begun),
                *flag = weft_host_translate((void *)args->flag);
    atomic_store(begun, 1);
    while (atomic_load(flag) != 1)
        sched_yield();
}

const weft_kernel_on_host_t test_hold_on_host = {"test_hold", sizeof(hold_args_t), hold};
