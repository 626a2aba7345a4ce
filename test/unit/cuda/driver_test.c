/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a process: its libraries are loaded one by one, among them the driver. */
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static const char *plug_in; /* a library that is not needed and can be unloaded; NULL: none */

static char *mapped;

static void test_nothing_is_loaded(void **state)
{
    (void)state;
    assert_int_equal(*weft_device_news, 0);
    assert_false(weft_is_device(mapped));
}

static bool is_loaded(const char *name)
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

static void find_plug_in(void)
{
    static const char *const names[] = {"libanl.so.1",          "libthread_db.so.1",
                                        "libBrokenLocale.so.1", "libbz2.so.1.0",
                                        "libexpat.so.1",        "libz.so.1"};
    for (size_t i = 0; plug_in == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = is_loaded(names[i]) ? NULL : dlopen(names[i], RTLD_NOW);
        if (library == NULL)
            continue;
        dlclose(library);
        if (!is_loaded(names[i]))
            plug_in = names[i];
    }
}

/* A new library may make Weft look for the driver again, but it keeps no library that the program
 * unloads. */
static void test_other_libraries(void **state)
{
    (void)state;
    if (plug_in == NULL)
        return;
    void *library = dlopen(plug_in, RTLD_NOW);
    assert_int_not_equal(*weft_device_news, 0);
    assert_false(weft_is_device(mapped));
    assert_false(weft_is_device(mapped));
    dlclose(library);
    assert_false(is_loaded(plug_in));
    assert_false(weft_is_device(mapped));
}

static void test_loaded_but_not_initialised(void **state)
{
    (void)state;
    load_driver();
    assert_int_not_equal(*weft_device_news, 0);
    assert_false(weft_is_device(mapped));
}

static void test_in_use(void **state)
{
    (void)state;
    int count = 0;
    CU(cuInit, (unsigned), 0);
    CU(cuDeviceGetCount, (int *), &count);
    assert_int_equal(count, 2);
    assert_false(weft_is_device(mapped));
    use_device(1);
    char *device = take_device(1000);
    assert_true(weft_is_device(device));
    assert_true(weft_is_device(device + 999));
    give_device(device);
}

/* The program may unload the driver; the library keeps it loaded. */
static void test_let_go(void **state)
{
    (void)state;
    char *device = take_device(1000);
    dlclose(loaded_driver);
    assert_true(weft_is_device(device));
    weft_cuda_close();
    assert_int_equal(*weft_device_news, 0);
    assert_false(weft_is_device(device));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_loaded),
        cmocka_unit_test(test_other_libraries),
        cmocka_unit_test(test_loaded_but_not_initialised),
        cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_let_go),
    };
    setenv("SIMCUDA", "devices=2", 1);
    mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    find_plug_in();
    open_library();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
