/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors of a machine that has more of them than a cpu_set_t. */
#define _GNU_SOURCE
#include "base/cpu.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MACHINE = 2304, ALLOWED = 1500, MOST_ALLOWED = 4096 };

static size_t processors; /* of the machine that is simulated */
static int allowed;

/* Takes the place of the C library's: the kernel refuses a mask that has not a bit for each
 * processor of the machine. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask)
{
    (void)pid;
    if (bytes * 8 < processors || bytes % sizeof(unsigned long) != 0) {
        errno = EINVAL;
        return -1;
    }
    memset(mask, 0, bytes);
    for (int cpu = 0; cpu < allowed; cpu++)
        CPU_SET_S((size_t)cpu, bytes, mask);
    return 0;
}

static int count_for(size_t machine, int of_them)
{
    processors = machine;
    allowed = of_them;
    weft_cpus_t cpus = weft_cpus_allowed();
    return weft_cpus_count(&cpus);
}

static void all_are_counted(void **unused)
{
    (void)unused;
    assert_int_equal(count_for(8, 3), 3);
    assert_int_equal(count_for(1024, 1024), 1024);
    assert_int_equal(count_for(MACHINE, 1), 1);
    assert_int_equal(count_for(MACHINE, ALLOWED), ALLOWED);
    assert_int_equal(count_for(8192, MOST_ALLOWED), MOST_ALLOWED);
}

/* A mask that cannot be had counts as one processor. */
static void no_mask_is_one_processor(void **unused)
{
    (void)unused;
    assert_int_equal(count_for((size_t)1 << 40, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_counted),
                                       cmocka_unit_test(no_mask_is_one_processor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
