/* SPDX-License-Identifier: BSD-3-Clause */
/* Which interfaces a rank uses: its share, the nearest, and others than the ranks beside it. */
#include "config.h"
#ifndef HAVE_LIBFABRIC
int main(void)
{
    return 77;
}
#else

#include "ofi/rail_choice.h"

#include "runtime/world.h"
#include "base/config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 32, NEAR = 1, FAR = 100 };

static void test_share(void **state)
{
    (void)state;
    assert_int_equal(weft_rails_share(32, 8), 4);
    assert_int_equal(weft_rails_share(32, 1), WEFT_RAILS_MAX);
    assert_int_equal(weft_rails_share(8, 8), 1);
    assert_int_equal(weft_rails_share(8, 3), 2);
    assert_int_equal(weft_rails_share(2, 96), 1);
}

typedef struct deal {
    int interfaces, rails, ranks;
} deal_t;

/* How often each interface is a rail of a rank, and how often the first one. */
static void count_uses(const deal_t *its, int uses[MOST], int firsts[MOST])
{
    static const int no_distances[MOST];
    memset(uses, 0, MOST * sizeof(*uses));
    memset(firsts, 0, MOST * sizeof(*firsts));
    for (int rank = 0; rank < its->ranks; rank++) {
        int order[MOST], seen[MOST] = {0};
        weft_rails_deal(no_distances, its->interfaces, its->rails, rank, order);
        for (int i = 0; i < its->interfaces; i++)
            assert_int_equal(seen[order[i]]++, 0);
        for (int i = 0; i < its->rails; i++)
            uses[order[i]]++;
        firsts[order[0]]++;
    }
}

/* Without distances ranks share all interfaces evenly. */
static void test_even(void **state)
{
    (void)state;
    static const deal_t deals[] = {{32, 4, 8}, {32, 4, 96}, {8, 1, 8}, {4, 2, 4},
                                   {4, 4, 4},  {2, 1, 96},  {1, 1, 3}};
    for (size_t i = 0; i < sizeof(deals) / sizeof(deals[0]); i++) {
        int uses[MOST], firsts[MOST], interfaces = deals[i].interfaces, ranks = deals[i].ranks;
        count_uses(&deals[i], uses, firsts);
        for (int k = 0; k < interfaces; k++) {
            assert_int_equal(uses[k], ranks * deals[i].rails / interfaces);
            if (ranks >= interfaces)
                assert_int_equal(firsts[k], ranks / interfaces);
        }
    }
}

/* The nearest come first, in turns; the others behind them. */
static void test_near(void **state)
{
    (void)state;
    static const int distances[] = {FAR, NEAR, NEAR + 1, NEAR, FAR, NEAR};
    static const int expected[][2] = {{1, 3}, {5, 1}};
    int order[6];
    for (int rank = 0; rank < 2; rank++) {
        weft_rails_deal(distances, 6, 2, rank, order);
        assert_int_equal(order[0], expected[rank][0]);
        assert_int_equal(order[1], expected[rank][1]);
        assert_int_equal(order[3], 2);
        assert_int_equal(distances[order[4]], FAR);
        assert_int_equal(distances[order[5]], FAR);
    }
}

/* ---- interfaces of libfabric ---- */

typedef struct fake {
    struct fi_info info;
    struct fi_fabric_attr fabric;
    struct fi_domain_attr domain;
    struct sockaddr_in address;
    char name[16];
} fake_t;

static fake_t fakes[MOST];
static const struct fi_info *interfaces[MOST];

static void make_interfaces(int count, uint32_t format, const char *fabric)
{
    for (int i = 0; i < count; i++) {
        fake_t *its = &fakes[i];
        *its = (fake_t){.info = {.addr_format = format}};
        snprintf(its->name, sizeof(its->name), "nic%d", i);
        its->fabric.name = (char *)fabric;
        its->domain.name = its->name;
        its->address = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i)};
        its->info.fabric_attr = &its->fabric;
        its->info.domain_attr = &its->domain;
        its->info.src_addr = &its->address;
        its->info.src_addrlen = sizeof(its->address);
        interfaces[i] = &its->info;
    }
}

static int choose(int count, bool are_devices, int local_rank, char *names_out)
{
    const struct fi_info *rails[WEFT_RAILS_MAX];
    weft_world.local_rank = local_rank;
    int found = weft_rails_choose(interfaces, count, are_devices, rails);
    for (int i = 0; i < found; i++)
        names_out += sprintf(names_out, "%s ", rails[i]->domain_attr->name);
    return found;
}

static void expect_rails(int count, bool are_devices, int local_rank, const char *expected)
{
    char names[64];
    choose(count, are_devices, local_rank, names);
    assert_string_equal(names, expected);
}

static void test_choice(void **state)
{
    (void)state;
    weft_world.size = weft_world.local_size = 1;
    make_interfaces(8, FI_ADDR_EFA, "efa");
    expect_rails(8, true, 0, "nic0 nic1 nic2 nic3 ");
    expect_rails(8, true, 1, "nic4 nic5 nic6 nic7 ");
    expect_rails(8, false, 1, "nic0 "); /* virtual: not without being asked for */
    weft_world.size = weft_world.local_size = 8;
    expect_rails(8, true, 3, "nic3 ");
    expect_rails(1, true, 3, "nic0 ");
    weft_config.RAILS = 2;
    expect_rails(8, true, 3, "nic6 nic7 ");
    expect_rails(8, false, 4, "nic1 nic2 ");
    weft_config.RAILS = 0;
}

/* In different networks rail N must be in the same one at all ranks. */
static void test_networks(void **state)
{
    (void)state;
    weft_world.size = weft_world.local_size = 4;
    make_interfaces(4, FI_ADDR_EFA, "efa");
    fakes[2].fabric.name = (char *)"other";
    expect_rails(4, true, 2, "nic0 nic1 nic2 nic3 ");
    make_interfaces(4, FI_SOCKADDR_IN, "10.0.0.0/8");
    expect_rails(4, true, 2, "nic2 "); /* all are within the loopback's network */
    fakes[3].address.sin_addr.s_addr = htonl(0x0a000001);
    expect_rails(4, true, 2, "nic0 nic1 nic2 nic3 ");
    make_interfaces(4, FI_SOCKADDR_IN, "10.0.0.0/8");
    fakes[0].info.src_addr = NULL;
    expect_rails(4, true, 2, "nic0 nic1 nic2 nic3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),  cmocka_unit_test(test_even),     cmocka_unit_test(test_near),
        cmocka_unit_test(test_choice), cmocka_unit_test(test_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
