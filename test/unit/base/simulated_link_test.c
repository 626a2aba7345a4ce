/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/simulated_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_link(const char *text, double bits_per_ns, int64_t latency_ns)
{
    weft_simulated_link_t link;
    if (!weft_simulated_link_read(text, &link))
        fail_msg("%s was not taken", text);
    double ratio = link.bytes_per_ns * 8 / bits_per_ns;
    assert_true(ratio > 0.999999 && ratio < 1.000001);
    assert_int_equal(link.latency_ns, latency_ns);
}

static void reads_links(void **state)
{
    (void)state;
    expect_link("10Gbit,20us", 10, 20000);
    expect_link("10gbit/s,20US", 10, 20000);
    expect_link("2.5Gbit", 2.5, 0);
    expect_link("100Mbit,1.5ms", 0.1, 1500000);
    expect_link("1Tbit,700ns", 1000, 700);
    expect_link("64Kbit,2s", 0.000064, 2000000000);
    expect_link("1Gbit,0us", 1, 0);
}

static void refuses_others(void **state)
{
    static const char *const texts[] = {"",          "fast",        "10",          "10Gbit,",
                                        "10Gbit,20", "0Gbit",       "-1Gbit",      "10GB",
                                        "nanGbit",   "10Gbit,1us,", "10Gbit,-1us", "10Gbit 20us",
                                        "infGbit",   "10Gbit,61s",  "1e30Gbit"};
    weft_simulated_link_t link;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (weft_simulated_link_read(texts[i], &link))
            fail_msg("\"%s\" was taken", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_links),
        cmocka_unit_test(refuses_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
