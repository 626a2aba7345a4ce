/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices are used by several ranks, also where all ranks enter theirs at once. */
#include "runtime/host_devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t *uuid_of(int number)
{
    static uint8_t uuid[16];
    memset(uuid, 7, sizeof(uuid));
    memcpy(uuid, &number, sizeof(number));
    return uuid;
}

static int open_table(void **unused)
{
    (void)unused;
    weft_host_devices = mmap(NULL, sizeof(*weft_host_devices), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return weft_host_devices == MAP_FAILED;
}

static int close_table(void **unused)
{
    (void)unused;
    munmap(weft_host_devices, sizeof(*weft_host_devices));
    weft_host_devices = NULL;
    return 0;
}

static void alone(void **unused)
{
    (void)unused;
    weft_host_devices_t *table = weft_host_devices;
    weft_host_devices = NULL;
    assert_int_equal(weft_host_device_enter(uuid_of(0), 0, 0), -1);
    assert_false(weft_host_device_is_shared(-1));
    weft_host_devices = table;
}

static void by_several_ranks(void **unused)
{
    (void)unused;
    int first = weft_host_device_enter(uuid_of(5), 2, 0),
        second = weft_host_device_enter(uuid_of(6), 3, 0);
    assert_int_not_equal(first, second);
    assert_int_equal(weft_host_device_enter(uuid_of(5), 2, 0), first);
    assert_false(weft_host_device_is_shared(first));
    assert_int_equal(weft_host_device_enter(uuid_of(5), 0, 0), first);
    assert_true(weft_host_device_is_shared(first));
    assert_false(weft_host_device_is_shared(second));
}

/* Clients of one server run side by side. Anybody else makes all take turns. */
static void by_clients(void **unused)
{
    enum { SERVER = 7, OTHER = 8 };
    (void)unused;
    int device = weft_host_device_enter(uuid_of(5), 2, SERVER),
        second = weft_host_device_enter(uuid_of(6), 2, SERVER),
        third = weft_host_device_enter(uuid_of(7), 2, 0);
    weft_host_device_enter(uuid_of(5), 0, SERVER);
    weft_host_device_enter(uuid_of(6), 0, SERVER);
    weft_host_device_enter(uuid_of(7), 0, SERVER);
    assert_false(weft_host_device_is_shared(device));
    assert_false(weft_host_device_is_shared(second));
    assert_true(weft_host_device_is_shared(third));
    weft_host_device_enter(uuid_of(5), 1, OTHER);
    weft_host_device_enter(uuid_of(6), 1, 0);
    assert_true(weft_host_device_is_shared(device));
    assert_true(weft_host_device_is_shared(second));
}

static void too_many(void **unused)
{
    (void)unused;
    for (int i = 0; i < WEFT_HOST_DEVICES; i++)
        assert_int_equal(weft_host_device_enter(uuid_of(100 + i), 1, 0), i);
    int place = weft_host_device_enter(uuid_of(9), 1, 0);
    assert_int_equal(place, -1);
    assert_true(weft_host_device_is_shared(place)); /* nobody can know */
    assert_int_equal(weft_host_device_enter(uuid_of(100 + 20), 1, 0), 20);
}

/* Device i is used by the ranks of which i is a factor, from the second on. */
static void all_at_once(void **unused)
{
    enum { RANKS = 8, DEVICES = 12 };
    (void)unused;
    for (int rank = 0; rank < RANKS; rank++) {
        if (fork() != 0)
            continue;
        for (int i = 0; i < DEVICES; i++) {
            int number = (i + rank) % DEVICES;
            if (number == 0 || (rank + 1) % number == 0)
                weft_host_device_enter(uuid_of(number), rank, 0);
        }
        _exit(0);
    }
    while (wait(NULL) > 0)
        continue;
    for (int number = 0; number < DEVICES; number++) {
        int users = 0;
        for (int rank = 0; rank < RANKS; rank++)
            users += number == 0 || (rank + 1) % number == 0;
        int place = weft_host_device_enter(uuid_of(number), number == 0 ? 0 : number - 1, 0);
        assert_int_equal(weft_host_device_is_shared(place), users > 1);
    }
}

/* One rank offers an area of a device, and one finds out whether another device reaches it. */
static void reach(void **unused)
{
    (void)unused;
    int device = weft_host_device_enter(uuid_of(1), 0, 0),
        owner = weft_host_device_enter(uuid_of(2), 1, 0);
    assert_int_equal(weft_host_device_find(uuid_of(2)), owner);
    assert_int_equal(weft_host_device_find(uuid_of(3)), -1);
    assert_null(weft_host_device_offered(owner));
    assert_null(weft_host_device_offered(-1));
    assert_false(weft_host_device_may_offer(-1));
    assert_true(weft_host_device_may_offer(owner));
    assert_false(weft_host_device_may_offer(owner));
    assert_null(weft_host_device_offered(owner)); /* it is being made */
    weft_host_device_offer(owner, &(weft_share_t){.id = 77});
    assert_int_equal(weft_host_device_offered(owner)->id, 77);
    assert_null(weft_host_device_offered(device));
    assert_int_equal(weft_host_verdict_ask(device, owner), WEFT_VERDICT_YOURS);
    assert_int_equal(weft_host_verdict_ask(device, owner), WEFT_VERDICT_TRIED);
    assert_int_equal(weft_host_verdict_ask(owner, device), WEFT_VERDICT_YOURS);
    weft_host_verdict_give(device, owner, WEFT_VERDICT_UNKNOWN);
    assert_int_equal(weft_host_verdict_ask(device, owner), WEFT_VERDICT_YOURS);
    weft_host_verdict_give(device, owner, WEFT_VERDICT_BAD);
    assert_int_equal(weft_host_verdict_ask(device, owner), WEFT_VERDICT_BAD);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(alone, open_table, close_table),
        cmocka_unit_test_setup_teardown(by_several_ranks, open_table, close_table),
        cmocka_unit_test_setup_teardown(by_clients, open_table, close_table),
        cmocka_unit_test_setup_teardown(too_many, open_table, close_table),
        cmocka_unit_test_setup_teardown(all_at_once, open_table, close_table),
        cmocka_unit_test_setup_teardown(reach, open_table, close_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
