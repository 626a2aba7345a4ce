/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a job for want of memory says what for. */
#include "base/out_of_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static jmp_buf back;
static int exit_code;
static char sentence[256];

static void note_end(int code, const char *why)
{
    exit_code = code;
    strncpy(sentence, why, sizeof(sentence) - 1);
    longjmp(back, 1);
}

static void out_of_memory_ends_the_job(void **state)
{
    (void)state;
    weft_out_of_memory_end = note_end;
    if (setjmp(back) == 0)
        weft_out_of_memory("an answer to rank 3", 4096);
    assert_int_equal(exit_code, 1);
    assert_string_equal(sentence, "no memory for an answer to rank 3 (4096 bytes)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_memory_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
