/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver and sender are two threads of one process: whichever of them copies a chunk, every byte
 * arrives once, in job after job. */
#define _GNU_SOURCE
#include "shm/shared_copy.h"

#include "libc_syscall.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

/* ---- a sender that is stopped in the middle of a chunk ---- */

static bool is_stopped_soon, is_stopped;
static int naps;

/* Take the place of the C library's. The first read claims a chunk for a sender, which is stopped
 * then; the third nap of the receiver sees it go on. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                         const struct iovec *remote, unsigned long remote_count,
                         unsigned long flags)
{
    if (is_stopped_soon) {
        atomic_fetch_sub(&job.claims, 1ull << 16);
        is_stopped = true;
    }
    is_stopped_soon = false;
    return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}

static void go_on(void)
{
    size_t chunk = job.claims >> 16 & 0xffff, at = chunk * job.chunk_bytes;
    memcpy((void *)(uintptr_t)(job.to + at), (const void *)(uintptr_t)(job.from + at),
           job.bytes - at);
    is_stopped = false;
    atomic_fetch_add(&job.helped, 1);
}

long syscall(long number, ...)
{
    long words[SYSCALL_WORDS];
    va_list list;
    va_start(list, number);
    read_syscall_words(list, words);
    va_end(list);
    if (number == SYS_futex && is_stopped) {
        if (++naps == 3)
            go_on();
        return 0;
    }
    return libc_syscall(number, words);
}

/* The receiver must not keep a core busy meanwhile. */
static void test_stopped(void **state)
{
    unsigned char *from = malloc(BYTES_MAX), *to = malloc(BYTES_MAX + 1);
    (void)state;
    is_stopped_soon = true;
    alarm(60); /* if it never sleeps */
    copy_and_check(from, to, BYTES_MAX, 5);
    alarm(0);
    assert_int_equal(naps, 3);
    free(from);
    free(to);
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
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_with_helper),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
