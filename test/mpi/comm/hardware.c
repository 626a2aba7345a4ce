/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_split_type by process sets and by hardware, and ranks that are reordered so that
 * neighbours share a package, on a machine that hwloc is told of: two packages with a processor
 * each, which have the numbers of this machine's processors 0 and 1. Ranks bind themselves to one
 * of them by their parity. Without these two, or without hwloc, only the host is tested.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <sched.h>
#include <stdlib.h>

/* Processor 0, 1, or both of them for -1. False if there are not both. */
static int bind_to(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < 2; i++) {
        if (processor < 0 || processor == i)
            CPU_SET(i, &set);
    }
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static int has_two(void)
{
    int bound = bind_to(0) && bind_to(1), all = 0;
    MPI_Allreduce(&bound, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static int count_parity(int parity)
{
    return (expect_size + 1 - parity) / 2;
}

static MPI_Comm split(int type, const char *resource, MPI_Info info)
{
    MPI_Comm part;
    if (resource != NULL)
        MPI_Info_set(info, "mpi_hw_resource_type", resource);
    EXPECT(MPI_Comm_split_type(MPI_COMM_WORLD, type, -expect_rank, info, &part), MPI_SUCCESS);
    return part;
}

/* Of `size` ranks, in reverse order; 0: none. */
static void expect_part(MPI_Comm part, int size, int rank)
{
    int value;
    EXPECT(part != MPI_COMM_NULL, size > 0);
    if (part == MPI_COMM_NULL)
        return;
    MPI_Comm_size(part, &value);
    EXPECT(value, size);
    MPI_Comm_rank(part, &value);
    EXPECT(value, rank);
    MPI_Comm_free(&part);
}

static void expect_parities(MPI_Comm part)
{
    int parity = expect_rank % 2, size = count_parity(parity);
    expect_part(part, size, size - 1 - expect_rank / 2);
}

static void expect_bound(const char *resource, const char *expected)
{
    char value[16] = "";
    int flag = 0, length = sizeof(value);
    MPI_Info info;
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_string(info, resource, &length, value, &flag);
    EXPECT(flag, 1);
    EXPECT_TEXT(value, expected);
    MPI_Info_free(&info);
}

static int knows_hwloc(void)
{
    int length = 0, flag;
    MPI_Info info;
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_string(info, "hwloc://PU", &length, NULL, &flag);
    MPI_Info_free(&info);
    return flag;
}

static void test_host(MPI_Info info)
{
    expect_part(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_shared_memory", info), expect_size,
                expect_size - 1 - expect_rank);
    expect_part(split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Rack", info), 0, 0);
    expect_part(split(MPI_COMM_TYPE_HW_GUIDED, "Package", info), 0, 0);
    expect_bound("mpi_shared_memory", "true");
}

static void test_bound(MPI_Info info)
{
    static const char *const same[] = {"hwloc://Package", "hwloc://NUMANode", "hwloc://core",
                                       "hwloc://PU"};
    for (int i = 0; i < 4; i++)
        expect_parities(split(MPI_COMM_TYPE_HW_GUIDED, same[i], info));
    expect_parities(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "hwloc://L3Cache", info));
    expect_bound("hwloc://Package", "true");
}

/* The packages are the largest thing that divides the ranks; one rank cannot be divided. */
static void test_unguided(void)
{
    char value[32] = "";
    int flag = 0, length = sizeof(value);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Comm part = split(MPI_COMM_TYPE_HW_UNGUIDED, NULL, info);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag);
    EXPECT(flag, expect_size > 1);
    if (expect_size > 1) {
        EXPECT_TEXT(value, "hwloc://Package");
        expect_parities(part);
    } else {
        expect_part(part, 0, 0);
    }
    MPI_Info_free(&info);
}

/* ---- neighbours come to one package ---- */

/* How many neighbours in the line of ranks of `line` are in different packages. Frees it. */
static int count_borders(MPI_Comm line)
{
    int rank, own = expect_rank % 2, before = own, is_border, borders = -1;
    MPI_Comm_rank(line, &rank);
    int next = rank + 1 < expect_size ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(&own, 1, MPI_INT, next, 0, &before, 1, MPI_INT,
                 rank > 0 ? rank - 1 : MPI_PROC_NULL, 0, line, MPI_STATUS_IGNORE);
    is_border = own != before;
    MPI_Allreduce(&is_border, &borders, 1, MPI_INT, MPI_SUM, line);
    MPI_Comm_free(&line);
    return borders;
}

/* A line as each of the topologies: half of it in each package, whatever the ranks' order is. */
static void test_reorder(void)
{
    int periods[] = {0}, peers[2], degree = 0, edges[64], index[64], to_next = expect_size - 1;
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &expect_size, periods, 1, &line);
    EXPECT(count_borders(line), expect_size > 1);
    for (int i = 0; i < expect_size; i++) {
        edges[i] = i + 1;
        index[i] = i < to_next ? i + 1 : to_next;
    }
    MPI_Graph_create(MPI_COMM_WORLD, expect_size, index, edges, 1, &line);
    EXPECT(count_borders(line), expect_size > 1);
    if (expect_rank > 0)
        peers[degree++] = expect_rank - 1;
    if (expect_rank < to_next)
        peers[degree++] = expect_rank + 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers, MPI_UNWEIGHTED, degree, peers,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &line);
    EXPECT(count_borders(line), expect_size > 1);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &expect_size, periods, 0, &line);
    EXPECT(count_borders(line), to_next); /* in the order of the ranks */
}

/* A rank that may run on both packages is in no part. */
static void test_unbound(MPI_Info info)
{
    if (expect_rank == 0)
        bind_to(-1);
    MPI_Comm part = split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Package", info);
    int odd = count_parity(1), even = count_parity(0) - 1;
    if (expect_rank == 0) {
        expect_part(part, 0, 0);
        expect_bound("hwloc://Package", "false");
    } else {
        expect_part(part, expect_rank % 2 ? odd : even,
                    (expect_rank % 2 ? odd : even + 1) - 1 - expect_rank / 2);
    }
    part = split(expect_rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, NULL, info);
    expect_part(part, expect_rank % 2 ? 0 : count_parity(0), count_parity(0) - 1 - expect_rank / 2);
}

static MPI_Comm split_by_set(const char *name, int type)
{
    MPI_Comm part;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", name);
    MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Rack");
    EXPECT(MPI_Comm_split_type(MPI_COMM_WORLD, type, -expect_rank, info, &part), MPI_SUCCESS);
    MPI_Info_free(&info);
    return part;
}

/* A process set is as good a resource, and only where it may be one. */
static void test_process_sets(void)
{
    int mine = MPI_COMM_TYPE_RESOURCE_GUIDED;
    expect_part(split_by_set("mpi://WORLD", mine), expect_size, expect_size - 1 - expect_rank);
    expect_part(split_by_set("mpi://SELF", mine), 1, 0);
    expect_part(split_by_set("mpi://NOBODY", mine), 0, 0);
    expect_part(split_by_set("mpi://WORLD", MPI_COMM_TYPE_HW_GUIDED), 0, 0);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_Init(&argc, &argv);
    expect_begin();
    setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 l3:1 core:1 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    MPI_Info_create(&info);
    test_host(info);
    test_process_sets();
    if (has_two() && knows_hwloc()) {
        bind_to(expect_rank % 2);
        test_bound(info);
        test_unguided();
        test_reorder();
        test_unbound(info);
    }
    MPI_Info_free(&info);
    return expect_end();
}
