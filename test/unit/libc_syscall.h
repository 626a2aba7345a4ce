/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests with a function syscall() of their own, which takes the place of the C library's. */
#ifndef TEST_UNIT_LIBC_SYSCALL_H
#define TEST_UNIT_LIBC_SYSCALL_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>

enum { SYSCALL_WORDS = 6 };

static inline void read_syscall_words(va_list list, long words[SYSCALL_WORDS])
{
    for (int i = 0; i < SYSCALL_WORDS; i++)
        words[i] = va_arg(list, long);
}

static inline long libc_syscall(long number, const long words[SYSCALL_WORDS])
{
    long (*libc)(long, ...) = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    return libc(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

#endif
