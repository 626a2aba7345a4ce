/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances on the PCI bus, on a machine of two packages with two switches each; below a switch
 * there are two GPUs, each with a bridge of its own, and two interfaces. Another interface is
 * beside the switches of a package. Which GPU a rank is expected to use.
 */
#include "config.h"
#ifndef HAVE_HWLOC
int main(void)
{
    return 77;
}
#else

#include "runtime/pci_distance.h"

#include <hwloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PACKAGES = 2,
    SWITCHES = 2, /* of a package */
    PUS = 4,      /* of a package */
    GPUS = PACKAGES * SWITCHES * 2,
    NICS = PACKAGES * (SWITCHES * 2 + 1),
    TEXT_BYTES = 32 * 1024,
};

static char text[TEXT_BYTES];
static size_t length;
static unsigned number; /* of the last object */
static hwloc_topology_t machine;
static hwloc_bitmap_t bound;

/* ---- the machine ---- */

#define SAY(...)                                                                                   \
    (length += (size_t)snprintf(text + length, sizeof(text) - length, __VA_ARGS__), (void)0)

static void say_set(int first, int count)
{
    SAY(" cpuset=\"0x%x\" complete_cpuset=\"0x%x\"", ((1u << count) - 1) << first,
        ((1u << count) - 1) << first);
}

static void say_nodes(unsigned nodes)
{
    SAY(" nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%u\"", nodes, nodes, ++number);
}

static void say_bridge(unsigned bus, unsigned slot, unsigned first, unsigned last)
{
    SAY("<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"1-1\" depth=\"1\" "
        "bridge_pci=\"0000:[%02x-%02x]\" pci_busid=\"0000:%02x:%02x.0\" "
        "pci_type=\"0604 [1000:c010] [0000:0000] b0\" pci_link_speed=\"0\">\n",
        ++number, first, last, bus, slot);
}

static void say_device(unsigned bus, unsigned slot, const char *type)
{
    SAY("<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"0000:%02x:%02x.0\" pci_type=\"%s\" "
        "pci_link_speed=\"0\"/>\n",
        ++number, bus, slot, type);
}

static const char gpu_type[] = "0302 [10de:2330] [0000:0000] a1",
                  nic_type[] = "0200 [1d0f:efa2] [0000:0000] 00";

/* Buses base + 1 to base + 4: those below the switch, then of the GPUs. */
static void say_switch(unsigned root, unsigned slot, unsigned base)
{
    say_bridge(root, slot, base + 1, base + 4);
    for (unsigned i = 0; i < 2; i++) {
        say_bridge(base + 1, i, base + 2 + i, base + 2 + i);
        say_device(base + 2 + i, 0, gpu_type);
        SAY("</object>\n");
        say_device(base + 1, 8 + i, nic_type);
    }
    SAY("</object>\n");
}

static void say_package(int index)
{
    unsigned root = 0x40 * (unsigned)index;
    SAY("<object type=\"Package\" os_index=\"%d\"", index);
    say_set(index * PUS, PUS);
    say_nodes(1u << index);
    SAY(">\n<object type=\"NUMANode\" os_index=\"%d\"", index);
    say_set(index * PUS, PUS);
    say_nodes(1u << index);
    SAY(" local_memory=\"1073741824\"/>\n");
    for (int i = 0; i < PUS; i++) {
        SAY("<object type=\"PU\" os_index=\"%d\"", index * PUS + i);
        say_set(index * PUS + i, 1);
        say_nodes(1u << index);
        SAY("/>\n");
    }
    SAY("<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"0000:[%02x-%02x]\">\n",
        ++number, root, root + 0x3f);
    say_device(root, 1, nic_type);
    for (unsigned i = 0; i < SWITCHES; i++)
        say_switch(root, 2 + i, root + 8 * (i + 1));
    SAY("</object>\n</object>\n");
}

static void write_machine(void)
{
    length = 0;
    SAY("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
        "\"hwloc2.dtd\">\n<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" "
        "allowed_cpuset=\"0xff\" allowed_nodeset=\"0x3\"");
    say_set(0, PACKAGES * PUS);
    say_nodes(3);
    SAY(">\n");
    for (int i = 0; i < PACKAGES; i++)
        say_package(i);
    SAY("</object>\n</topology>\n");
    assert_true(length < sizeof(text));
}

static int open_machine(void **state)
{
    (void)state;
    write_machine();
    hwloc_topology_init(&machine);
    hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_ALL);
    bound = hwloc_bitmap_alloc();
    return hwloc_topology_set_xmlbuffer(machine, text, (int)length + 1) != 0 ||
           hwloc_topology_load(machine) != 0;
}

static int close_machine(void **state)
{
    (void)state;
    hwloc_bitmap_free(bound);
    hwloc_topology_destroy(machine);
    return 0;
}

/* The interfaces of a package: one beside the switches, then two below each of them. */
static void list_interfaces(weft_pci_address_t out[NICS])
{
    for (unsigned package = 0, i = 0; package < PACKAGES; package++) {
        unsigned root = 0x40 * package;
        out[i++] = (weft_pci_address_t){0, root, 1, 0};
        for (unsigned below = 0; below < SWITCHES * 2; below++)
            out[i++] = (weft_pci_address_t){0, root + 8 * (below / 2 + 1) + 1, 8 + below % 2, 0};
    }
}

/* ---- the tests ---- */

static void expect_distances(const char *visible, int local_rank, const int expected[NICS])
{
    weft_pci_address_t interfaces[NICS];
    int distances[NICS];
    list_interfaces(interfaces);
    weft_pci_viewer_t rank = {bound, visible, local_rank};
    assert_true(wefti_pci_distances_on(machine, &rank, interfaces, NICS, distances));
    for (int i = 0; i < NICS; i++)
        assert_int_equal(distances[i], expected[i]);
}

static void test_by_gpu(void **state)
{
    (void)state;
    hwloc_bitmap_fill(bound);
    /* GPUs 0 and 1 are below the first switch, 6 and 7 below the last. */
    static const int first[NICS] = {1, 1, 1, 2, 2, 200, 200, 200, 200, 200};
    static const int last[NICS] = {200, 200, 200, 200, 200, 1, 2, 2, 1, 1};
    expect_distances(NULL, 0, first);
    expect_distances(NULL, 1, first);
    expect_distances("0", 5, first);
    expect_distances("4,5,7", 2, last);
    expect_distances(NULL, GPUS - 1, last);
    expect_distances(NULL, 2 * GPUS - 1, last);
}

static void test_by_processor(void **state)
{
    (void)state;
    static const int second[NICS] = {200, 200, 200, 200, 200, 100, 100, 100, 100, 100};
    hwloc_bitmap_only(bound, PUS + 2);
    expect_distances("", 0, second);
    /* GPU 0 is of the other package, so a rank that is bound here will not use it. */
    expect_distances(NULL, 0, second);
    /* GPU 4 is beside. */
    static const int beside[NICS] = {200, 200, 200, 200, 200, 1, 1, 1, 2, 2};
    expect_distances(NULL, 4, beside);
}

static void test_unknown(void **state)
{
    (void)state;
    weft_pci_address_t devices[2] = {{0, 0, 1, 0}, {7, 0x99, 1, 0}};
    int distances[2] = {5, 6};
    weft_pci_viewer_t rank = {bound, "", 0};
    hwloc_bitmap_fill(bound);
    assert_false(wefti_pci_distances_on(machine, &rank, devices, 2, distances));
    assert_int_equal(distances[0], 0);
    assert_int_equal(distances[1], 0);
    hwloc_bitmap_only(bound, 0);
    assert_true(wefti_pci_distances_on(machine, &rank, devices, 2, distances));
    assert_int_equal(distances[0], WEFT_PCI_IN_PART);
    assert_int_equal(distances[1], WEFT_PCI_ELSEWHERE); /* hwloc does not know it */
}

static void test_expected_gpu(void **state)
{
    (void)state;
    assert_int_equal(weft_expected_gpu(NULL, 3, 0), -1);
    assert_int_equal(weft_expected_gpu(NULL, 3, 8), 3);
    assert_int_equal(weft_expected_gpu(NULL, 11, 8), 3);
    assert_int_equal(weft_expected_gpu("", 0, 8), -1);
    assert_int_equal(weft_expected_gpu("5", 3, 8), 5);
    assert_int_equal(weft_expected_gpu("5,2,7", 4, 8), 2);
    assert_int_equal(weft_expected_gpu("5,8", 1, 8), -1);
    assert_int_equal(weft_expected_gpu("-1", 0, 8), -1);
    assert_int_equal(weft_expected_gpu("GPU-8932f937", 0, 8), -1);
    assert_int_equal(weft_expected_gpu("1,MIG-8932f937,", 1, 8), -1);
    assert_int_equal(weft_expected_gpu("1,", 1, 8), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_gpu, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(test_by_processor, open_machine, close_machine),
        cmocka_unit_test_setup_teardown(test_unknown, open_machine, close_machine),
        cmocka_unit_test(test_expected_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
