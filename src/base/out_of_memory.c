/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/out_of_memory.h"

#include <stdio.h>

void (*weft_out_of_memory_end)(int code, const char *why);

void weft_out_of_memory(const char *what, size_t bytes)
{
    char why[256];
    snprintf(why, sizeof(why), "no memory for %s (%zu bytes)", what, bytes);
    if (weft_out_of_memory_end != NULL)
        weft_out_of_memory_end(1, why);
    __builtin_trap();
}
