/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver and sender are two threads of one process: whichever of them copies a chunk, every byte
 * arrives once, in job after job. */
#include "shm/shared_copy.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES_MAX = 3 * 1024 * 1024 };

static weft_copy_job_t job;
static atomic_bool is_over;
static atomic_uint helped;

static void *help(void *nothing)
{
    (void)nothing;
    while (!atomic_load(&is_over)) {
        if (weft_shared_copy_help(&job, getpid()))
            atomic_fetch_add(&helped, 1);
    }
    return NULL;
}

static void copy_and_check(unsigned char *from, unsigned char *to, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)(i * 13 + (i >> 12) + salt);
    memset(to, 0, bytes + 1);
    if (!weft_shared_copy_read(&job, getpid(), (uint64_t)(uintptr_t)from, to, bytes))
        skip(); /* this machine does not allow it */
    assert_memory_equal(to, from, bytes);
    assert_int_equal(to[bytes], 0);
}

static void run_jobs(bool with_helper)
{
    unsigned char *from = malloc(BYTES_MAX), *to = malloc(BYTES_MAX + 1);
    pthread_t helper;
    atomic_store(&is_over, false);
    if (with_helper)
        assert_int_equal(pthread_create(&helper, NULL, help, NULL), 0);
    static const size_t sizes[] = {1, 65535, 65536, 65537, 200000, 262144, 1000003, BYTES_MAX};
    for (unsigned round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            copy_and_check(from, to, sizes[i], round);
    }
    atomic_store(&is_over, true);
    if (with_helper)
        pthread_join(helper, NULL);
    free(from);
    free(to);
}

static void test_alone(void **state)
{
    (void)state;
    run_jobs(false);
    assert_false(weft_shared_copy_help(&job, getpid())); /* no chunk is left */
}

static void test_with_helper(void **state)
{
    (void)state;
    run_jobs(true);
    assert_false(weft_shared_copy_help(&job, getpid()));
}

static void test_refused(void **state)
{
    (void)state;
    unsigned char to[8];
    assert_false(weft_shared_copy_read(&job, getpid(), 8, to, sizeof(to))); /* no such address */
    unsigned char *large = malloc(BYTES_MAX);
    assert_false(weft_shared_copy_read(&job, getpid(), 8, large, BYTES_MAX));
    assert_false(weft_shared_copy_help(&job, getpid()));
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_with_helper),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
