/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups (MPI 5.0 section 7.3). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "object/group_set.h"
#include "base/fail.h"

/* ---- enquiries ---- */

WEFT_API(MPI_Group_size);
int PMPI_Group_size(MPI_Group handle, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Group_size");
    weft_group_t *group;
    int err = weft_check_group(handle, "group", &group);
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        *size = group->size;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Group_rank);
int PMPI_Group_rank(MPI_Group handle, int *rank)
{
    weft_call_t call = weft_call_begin("MPI_Group_rank");
    weft_group_t *group;
    int err = weft_check_group(handle, "group", &group);
    if (err == MPI_SUCCESS)
        err = weft_check_output(rank, "rank");
    if (err == MPI_SUCCESS)
        *rank = group->rank;
    return weft_call_end(&call, err);
}

static int check_two(MPI_Group handle1, MPI_Group handle2, weft_group_t **one, weft_group_t **two)
{
    int err = weft_check_group(handle1, "group1", one);
    return err == MPI_SUCCESS ? weft_check_group(handle2, "group2", two) : err;
}

WEFT_API(MPI_Group_compare);
int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    weft_call_t call = weft_call_begin("MPI_Group_compare");
    weft_group_t *one, *two;
    int err = check_two(group1, group2, &one, &two);
    if (err == MPI_SUCCESS)
        err = weft_check_output(result, "result");
    if (err == MPI_SUCCESS)
        *result = weft_group_compare(one, two);
    return weft_call_end(&call, err);
}

static int translate(const weft_group_t *from, int rank, weft_group_t *to, int *out)
{
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= from->size))
        return weft_fail(MPI_ERR_RANK, "rank %d is not in group1, which has %d members", rank,
                         from->size);
    *out = rank == MPI_PROC_NULL ? rank : weft_group_rank_of(to, weft_group_process(from, rank));
    return MPI_SUCCESS;
}

static int group_check_ranks(int n, const int ranks1[], int ranks2[])
{
    int err = weft_check_count(n, "n");
    if (err == MPI_SUCCESS && n > 0)
        err = weft_check_input(ranks1, "ranks1");
    if (err == MPI_SUCCESS && n > 0)
        err = weft_check_output(ranks2, "ranks2");
    return err;
}

WEFT_API(MPI_Group_translate_ranks);
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[])
{
    weft_call_t call = weft_call_begin("MPI_Group_translate_ranks");
    weft_group_t *from, *to;
    int err = check_two(group1, group2, &from, &to);
    if (err == MPI_SUCCESS)
        err = group_check_ranks(n, ranks1, ranks2);
    for (int i = 0; err == MPI_SUCCESS && i < n; i++)
        err = translate(from, ranks1[i], to, &ranks2[i]);
    return weft_call_end(&call, err);
}

/* ---- new groups ---- */

typedef int (*combine_fn_t)(weft_group_t *one, weft_group_t *two, weft_group_t **out);

static int combine_groups(const char *name, MPI_Group group1, MPI_Group group2, combine_fn_t make,
                          MPI_Group *newgroup)
{
    weft_call_t call = weft_call_begin(name);
    weft_group_t *one, *two, *made;
    int err = check_two(group1, group2, &one, &two);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newgroup, "newgroup");
    if (err == MPI_SUCCESS)
        err = make(one, two, &made);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group(call.name, made);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Group_union);
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine_groups("MPI_Group_union", group1, group2, weft_group_union, newgroup);
}

WEFT_API(MPI_Group_intersection);
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine_groups("MPI_Group_intersection", group1, group2, weft_group_intersection,
                          newgroup);
}

WEFT_API(MPI_Group_difference);
int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine_groups("MPI_Group_difference", group1, group2, weft_group_difference, newgroup);
}

static int check_choice(MPI_Group handle, const MPI_Group *newgroup, weft_group_t **out)
{
    int err = weft_check_group(handle, "group", out);
    return err == MPI_SUCCESS ? weft_check_output(newgroup, "newgroup") : err;
}

WEFT_API(MPI_Group_incl);
int PMPI_Group_incl(MPI_Group handle, int n, const int ranks[], MPI_Group *newgroup)
{
    weft_call_t call = weft_call_begin("MPI_Group_incl");
    weft_group_t *group, *made;
    int err = check_choice(handle, newgroup, &group);
    if (err == MPI_SUCCESS)
        err = weft_group_include(group, n, ranks, &made);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group(call.name, made);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Group_excl);
int PMPI_Group_excl(MPI_Group handle, int n, const int ranks[], MPI_Group *newgroup)
{
    weft_call_t call = weft_call_begin("MPI_Group_excl");
    weft_group_t *group, *made;
    int err = check_choice(handle, newgroup, &group);
    if (err == MPI_SUCCESS)
        err = weft_group_exclude(group, n, ranks, &made);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group(call.name, made);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Group_range_incl);
int PMPI_Group_range_incl(MPI_Group handle, int n, int ranges[][3], MPI_Group *newgroup)
{
    weft_call_t call = weft_call_begin("MPI_Group_range_incl");
    weft_group_t *group, *made;
    int err = check_choice(handle, newgroup, &group);
    if (err == MPI_SUCCESS)
        err = weft_group_include_ranges(group, n, ranges, &made);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group(call.name, made);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Group_range_excl);
int PMPI_Group_range_excl(MPI_Group handle, int n, int ranges[][3], MPI_Group *newgroup)
{
    weft_call_t call = weft_call_begin("MPI_Group_range_excl");
    weft_group_t *group, *made;
    int err = check_choice(handle, newgroup, &group);
    if (err == MPI_SUCCESS)
        err = weft_group_exclude_ranges(group, n, ranges, &made);
    if (err == MPI_SUCCESS)
        *newgroup = weft_give_group(call.name, made);
    return weft_call_end(&call, err);
}

/* MPI_GROUP_EMPTY may be freed: the functions above return it for an empty group. */
WEFT_API(MPI_Group_free);
int PMPI_Group_free(MPI_Group *handle)
{
    weft_call_t call = weft_call_begin("MPI_Group_free");
    weft_group_t *group;
    int err = weft_check_output(handle, "group");
    if (err == MPI_SUCCESS)
        err = weft_check_group(*handle, "group", &group);
    if (err == MPI_SUCCESS) {
        weft_note_back(*handle);
        weft_group_release(group);
        *handle = MPI_GROUP_NULL;
    }
    return weft_call_end(&call, err);
}
