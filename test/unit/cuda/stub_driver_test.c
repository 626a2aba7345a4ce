/* SPDX-License-Identifier: BSD-3-Clause */
/* A libcuda that can use no device, and one that is not ready yet: memory is the host's, and the
 * driver is asked nothing about it. The simulated driver ends the process at the first question. */
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { CODES = 4 };

static char *mapped; /* neither of the stack nor of the heap, so that it is asked about */

static int look_with(const char *words)
{
    setenv("SIMCUDA", words, 1);
    open_library();
    load_driver();
    CU(cuInit, (unsigned), 0);
    bool is_device = weft_is_device(mapped) || weft_is_device(mapped);
    bool is_watched = *weft_device_news != 0;
    weft_cuda_close();
    return is_device ? 2 : is_watched;
}

/* The driver is loaded once in a process: its words are read once. */
static int look_in_child(const char *words)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(look_with(words));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        exit(SKIPPED);
    return WEXITSTATUS(status);
}

static void test_never_a_device(void **state)
{
    static const int codes[CODES] = {WEFT_CU_STUB_LIBRARY, WEFT_CU_NO_DEVICE,
                                     WEFT_CU_DRIVER_MISMATCH, WEFT_CU_COMPAT_NOT_SUPPORTED};
    (void)state;
    for (int i = 0; i < CODES; i++) {
        char words[128];
        snprintf(words, sizeof(words), "fail=cuCtxGetCurrent:1+:%d;kill=cuPointerGetAttributes:1",
                 codes[i]);
        assert_int_equal(look_in_child(words), 0);
    }
}

/* The fabric of the devices may still be starting. */
static void test_not_ready(void **state)
{
    (void)state;
    assert_int_equal(look_in_child("fail=cuCtxGetCurrent:1+:802;kill=cuPointerGetAttributes:1"), 1);
}

/* A thread without a context of its own may use the driver. */
static void test_no_context(void **state)
{
    (void)state;
    assert_int_equal(look_in_child("fail=cuCtxGetCurrent:1+:201"), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_a_device),
        cmocka_unit_test(test_not_ready),
        cmocka_unit_test(test_no_context),
    };
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
