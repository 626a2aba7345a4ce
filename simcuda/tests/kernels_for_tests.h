/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMCUDA_KERNELS_FOR_TESTS_H
#define SIMCUDA_KERNELS_FOR_TESTS_H

#include <stdint.h>

typedef struct add_args {
    uint64_t to, from, count; /* addresses of int */
} add_args_t;

typedef struct spin_args {
    uint64_t flag; /* address of int */
    int value;
} spin_args_t;

typedef struct hold_args {
    uint64_t begun, flag; /* addresses of int */
} hold_args_t;

#endif
