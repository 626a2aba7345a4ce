/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel in a stream that waits for a word of the host. */
#include "host_kernels.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>

#include <cmocka.h>

static _Alignas(64) atomic_uint word;
static atomic_int passed;

static void *pass(void *call)
{
    run_kernel(call);
    atomic_store(&passed, 1);
    return NULL;
}

/* The word goes through `steps`; the gate opens at the last one, and at none before. */
static void check(uint32_t number, bool is_repeated, const uint32_t *steps, int count)
{
    weft_kernel_call_t call;
    pthread_t thread;
    weft_call_gate(device_address(&word), number, is_repeated, &call);
    assert_int_equal(call.blocks, 1);
    atomic_store(&word, steps[0]);
    atomic_store(&passed, 0);
    assert_int_equal(pthread_create(&thread, NULL, pass, &call), 0);
    for (int i = 1; i < count; i++) {
        for (int looks = 0; looks < 1000; looks++)
            assert_int_equal(atomic_load(&passed), 0);
        atomic_store(&word, steps[i]);
    }
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&word), is_repeated ? 0 : steps[count - 1]);
}

static void opens(void **state)
{
    (void)state;
    check(3, false, (uint32_t[]){1, 2, 3}, 3);
    check(3, false, (uint32_t[]){2, 9}, 2);
    check(3, false, (uint32_t[]){4}, 1);
    check(2, false, (uint32_t[]){0xfffffffe, 0xffffffff, 2}, 3);
}

static void opens_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        check(1, true, (uint32_t[]){0, 1}, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens),
        cmocka_unit_test(opens_again_and_again),
    };
    int missing = open_kernels();
    return missing != 0 ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
