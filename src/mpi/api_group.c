/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups (MPI 5.0 section 7.3). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "object/group_set.h"
#include "base/fail.h"

/* ---- enquiries ---- */

/** Tells how many processes a group has (section 7.3.1).
 *  @param[out] size  the number of processes
 *  @see MPI_Group_rank, MPI_Comm_size */
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

/** Tells which rank the calling process has in a group (section 7.3.1).
 *  @param[out] rank  the rank; MPI_UNDEFINED if the process is no member
 *  @see MPI_Group_size, MPI_Group_translate_ranks */
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

/** Tells whether two groups have the same processes (section 7.3.1).
 *  @param[out] result  MPI_IDENT: the same processes in the same order; MPI_SIMILAR: the same in
 *      another order; MPI_UNEQUAL: else
 *  @see MPI_Comm_compare */
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

static int translate(const weft_group_t *from, int rank, weft_group_t *to)
{
    return rank == MPI_PROC_NULL ? rank : weft_group_rank_of(to, weft_group_process(from, rank));
}

static int group_check_ranks(const weft_group_t *from, int n, const int ranks1[],
                             const int ranks2[])
{
    int err = weft_check_count(n, "n");
    if (err == MPI_SUCCESS && n > 0)
        err = weft_check_input(ranks1, "ranks1");
    if (err == MPI_SUCCESS && n > 0)
        err = weft_check_output(ranks2, "ranks2");
    for (int i = 0; err == MPI_SUCCESS && i < n; i++) {
        if (ranks1[i] != MPI_PROC_NULL && (unsigned)ranks1[i] >= (unsigned)from->size)
            err = weft_fail(MPI_ERR_RANK, "ranks1[%d] is %d, but group1 has %d members", i,
                            ranks1[i], from->size);
    }
    return err;
}

/** Tells which ranks some processes of one group have in another (section 7.3.1).
 *  @param[in] group1  the group that ranks1 are of
 *  @param[in] n  how many ranks there are
 *  @param[in] ranks1  n ranks of group1; MPI_PROC_NULL may be among them
 *  @param[in] group2  the group that ranks2 are of
 *  @param[out] ranks2  the n ranks in group2: MPI_UNDEFINED for a process that is no member,
 *      MPI_PROC_NULL for MPI_PROC_NULL
 *  @error MPI_ERR_COUNT  n is negative
 *  @error MPI_ERR_ARG  ranks1 is NULL and n is not 0
 *  @error MPI_ERR_RANK  ranks1 has a number that is no rank of group1
 *  @see MPI_Group_rank, MPI_Comm_group */
WEFT_API(MPI_Group_translate_ranks);
int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[])
{
    weft_call_t call = weft_call_begin("MPI_Group_translate_ranks");
    weft_group_t *from, *to;
    int err = check_two(group1, group2, &from, &to);
    if (err == MPI_SUCCESS)
        err = group_check_ranks(from, n, ranks1, ranks2);
    for (int i = 0; err == MPI_SUCCESS && i < n; i++)
        ranks2[i] = translate(from, ranks1[i], to);
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

/** Makes a group of the processes of two (section 7.3.2): all those of the first group in its
 *  order, then those of the second that are not in the first.
 *  @error MPI_ERR_NO_MEM  there is no memory for the group
 *  @see MPI_Group_intersection, MPI_Group_difference, MPI_Group_free */
WEFT_API(MPI_Group_union);
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine_groups("MPI_Group_union", group1, group2, weft_group_union, newgroup);
}

/** Makes a group of the processes that are in both of two groups (section 7.3.2). They keep the
 *  order of the first.
 *  @param[out] newgroup  the new group; MPI_GROUP_EMPTY if no process is in both
 *  @copydoc MPI_Group_union
 *  @see MPI_Group_difference */
WEFT_API(MPI_Group_intersection);
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine_groups("MPI_Group_intersection", group1, group2, weft_group_intersection,
                          newgroup);
}

/** Makes a group of the processes of the first group that are not in the second (section 7.3.2).
 *  They keep their order.
 *  @param[out] newgroup  the new group; MPI_GROUP_EMPTY if all are in the second
 *  @copydoc MPI_Group_union
 *  @see MPI_Group_intersection */
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

/** Makes a group of some members of another, in the order in which they are named (section 7.3.2).
 *  @param[in] n  how many ranks there are, and how many members the new group has
 *  @param[in] ranks  n different ranks of group: number i becomes rank i
 *  @error MPI_ERR_ARG  n is negative, or ranks is NULL and n is not 0
 *  @error MPI_ERR_RANK  ranks has a number that is no rank of group, or one of them twice
 *  @error MPI_ERR_NO_MEM  there is no memory for the group
 *  @see MPI_Group_excl, MPI_Group_range_incl */
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

/** Makes a group of the members of another without some of them (section 7.3.2). Those that stay
 *  keep their order.
 *  @param[in] n  how many ranks there are
 *  @param[in] ranks  n different ranks of group: those to leave out
 *  @copydoc MPI_Group_incl
 *  @see MPI_Group_range_excl */
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

/** Makes a group of members of another that are named by ranges (section 7.3.2). A range is a first
 *  rank, a last rank and a stride, which may be negative; 6, 2 and -2 name 6, 4 and 2.
 *  @param[in] n  how many ranges there are
 *  @error MPI_ERR_ARG  n is negative, ranges is NULL and n is not 0, or a range has a stride of 0
 *      or one that leads away from its last rank
 *  @error MPI_ERR_RANK  ranges names a number that is no rank of group, or one of them twice
 *  @error MPI_ERR_NO_MEM  there is no memory for the group
 *  @see MPI_Group_incl, MPI_Group_range_excl */
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

/** Makes a group of the members of another without those that ranges name (section 7.3.2). Those
 *  that stay keep their order; MPI_Group_range_incl says what a range is.
 *  @copydoc MPI_Group_range_incl
 *  @see MPI_Group_excl */
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

/** Gives a group back that the program does not need any more (section 7.3.3). Communicators that
 *  were made with it stay as they are.
 *  @param[in,out] group  the group; becomes MPI_GROUP_NULL
 *  @note MPI_GROUP_EMPTY may be freed, since functions that make groups return it for an empty one.
 *  @see MPI_Comm_group, MPI_Group_incl */
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
