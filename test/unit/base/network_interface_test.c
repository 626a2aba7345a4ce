/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces that lead nowhere are passed over, unless the user names one. */
#include "base/network_interface.h"

#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_leads_nowhere_is_unfit(void **state)
{
    (void)state;
    weft_config.FABRIC_INTERFACE = "";
    weft_interface_t lo = weft_interface_choose("lo");
    assert_int_equal(lo.rank, WEFT_INTERFACE_UNFIT);
    assert_string_equal(lo.why, "loopback");
    assert_int_equal(weft_interface_choose("no-such-interface").rank, WEFT_INTERFACE_REAL);
}

static void the_user_chooses(void **state)
{
    (void)state;
    weft_config.FABRIC_INTERFACE = "lo";
    weft_interface_t lo = weft_interface_choose("lo");
    assert_int_equal(lo.rank, WEFT_INTERFACE_REAL);
    assert_null(lo.why);
    assert_int_equal(weft_interface_choose("no-such-interface").rank, WEFT_INTERFACE_UNFIT);
    assert_int_equal(weft_interface_look("lo").rank,
                     WEFT_INTERFACE_UNFIT); /* what the kernel says */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_leads_nowhere_is_unfit),
        cmocka_unit_test(the_user_chooses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
