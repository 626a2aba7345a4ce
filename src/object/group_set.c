/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/group_set.h"

#include "base/fail.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

static bool is_member(weft_group_t *group, int process)
{
    return weft_group_rank_of(group, process) != MPI_UNDEFINED;
}

static int share(weft_group_t *group, weft_group_t **out)
{
    weft_group_retain(group);
    *out = group;
    return MPI_SUCCESS;
}

static int fail_set_memory(int size)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", size);
}

/* ---- made of two groups ---- */

static bool have_same_order(const weft_group_t *one, const weft_group_t *two)
{
    for (int i = 0; i < one->size; i++) {
        if (weft_group_process(one, i) != weft_group_process(two, i))
            return false;
    }
    return true;
}

int weft_group_compare(weft_group_t *one, weft_group_t *two)
{
    if (one == two)
        return MPI_IDENT;
    if (one->size != two->size)
        return MPI_UNEQUAL;
    if (have_same_order(one, two))
        return MPI_IDENT;
    for (int i = 0; i < one->size; i++) {
        if (!is_member(two, weft_group_process(one, i)))
            return MPI_UNEQUAL;
    }
    return MPI_SIMILAR;
}

/* List the members of `from` that are in `other`, or those that are not; returns how many. */
static int filter(const weft_group_t *from, weft_group_t *other, bool are_in, int ranks[])
{
    int count = 0;
    for (int i = 0; i < from->size; i++) {
        int process = weft_group_process(from, i);
        if (is_member(other, process) == are_in)
            ranks[count++] = process;
    }
    return count;
}

static int make_filtered(weft_group_t *one, weft_group_t *two, bool are_in, weft_group_t **out)
{
    int *ranks = weft_alloc_array((size_t)one->size, sizeof(int));
    if (ranks == NULL)
        return fail_set_memory(one->size);
    int count = filter(one, two, are_in, ranks);
    if (count == one->size) {
        weft_free(ranks);
        return share(one, out);
    }
    return weft_group_derive(one, ranks, count, out);
}

int weft_group_intersection(weft_group_t *one, weft_group_t *two, weft_group_t **out)
{
    return make_filtered(one, two, true, out);
}

int weft_group_difference(weft_group_t *one, weft_group_t *two, weft_group_t **out)
{
    return make_filtered(one, two, false, out);
}

int weft_group_union(weft_group_t *one, weft_group_t *two, weft_group_t **out)
{
    size_t room = (size_t)one->size + (size_t)two->size;
    int *ranks = weft_alloc_array(room, sizeof(int));
    if (ranks == NULL)
        return fail_set_memory(one->size + two->size);
    for (int i = 0; i < one->size; i++)
        ranks[i] = weft_group_process(one, i);
    int added = filter(two, one, false, ranks + one->size);
    if (added == 0) {
        weft_free(ranks);
        return share(one, out);
    }
    return weft_group_derive(one->size > 0 ? one : two, ranks, one->size + added, out);
}

/* ---- made of chosen ranks ---- */

/* The ranks that were named: as a list in their order, and as flags. */
typedef struct choice {
    weft_group_t *group;
    int count;
    int *processes;  /* [group->size] */
    bool *is_chosen; /* [group->size] */
} group_choice_t;

static int choice_open(group_choice_t *choice, weft_group_t *group)
{
    *choice = (group_choice_t){
        .group = group,
        .processes = weft_alloc_array((size_t)group->size, sizeof(int)),
        .is_chosen = weft_alloc_zeroed((size_t)group->size + 1, sizeof(bool)),
    };
    if (choice->processes != NULL && choice->is_chosen != NULL)
        return MPI_SUCCESS;
    weft_free(choice->processes);
    weft_free(choice->is_chosen);
    return fail_set_memory(group->size);
}

static bool has_rank(const weft_group_t *group, int rank)
{
    return rank >= 0 && rank < group->size;
}

/* The caller says which argument has the rank. */
static int choose_member(group_choice_t *choice, int rank)
{
    if (!has_rank(choice->group, rank) || choice->is_chosen[rank])
        return MPI_ERR_RANK;
    choice->is_chosen[rank] = true;
    choice->processes[choice->count++] = weft_group_process(choice->group, rank);
    return MPI_SUCCESS;
}

/* Make the group of the chosen ranks, or of all others (is_rest), and free the choice. */
static int choice_close(group_choice_t *choice, int err, bool is_rest, weft_group_t **out)
{
    weft_group_t *group = choice->group;
    if (err == MPI_SUCCESS && is_rest) {
        choice->count = 0;
        for (int rank = 0; rank < group->size; rank++) {
            if (!choice->is_chosen[rank])
                choice->processes[choice->count++] = weft_group_process(group, rank);
        }
    }
    weft_free(choice->is_chosen);
    if (err == MPI_SUCCESS)
        return weft_group_derive(group, choice->processes, choice->count, out);
    weft_free(choice->processes);
    return err;
}

static int check_member_count(int count, const void *array, const char *name)
{
    if (count < 0)
        return weft_fail(MPI_ERR_ARG, "n is %d, but must be at least 0", count);
    if (count > 0 && array == NULL)
        return weft_fail(MPI_ERR_ARG, "%s is NULL, but n is %d", name, count);
    return MPI_SUCCESS;
}

static int make_chosen(weft_group_t *group, int count, const int ranks[], bool is_rest,
                       weft_group_t **out)
{
    group_choice_t choice;
    int err = check_member_count(count, ranks, "ranks");
    if (err == MPI_SUCCESS)
        err = choice_open(&choice, group);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++) {
        err = choose_member(&choice, ranks[i]);
        if (err != MPI_SUCCESS && has_rank(group, ranks[i]))
            weft_fail(err, "ranks[%d] is %d, which stands in ranks before", i, ranks[i]);
        else if (err != MPI_SUCCESS)
            weft_fail(err, "ranks[%d] is %d, but group has %d members", i, ranks[i], group->size);
    }
    return choice_close(&choice, err, is_rest, out);
}

int weft_group_include(weft_group_t *group, int count, const int ranks[], weft_group_t **out)
{
    return make_chosen(group, count, ranks, false, out);
}

int weft_group_exclude(weft_group_t *group, int count, const int ranks[], weft_group_t **out)
{
    return make_chosen(group, count, ranks, true, out);
}

static int choose_range(group_choice_t *choice, int index, const int range[3])
{
    int first = range[0], last = range[1], stride = range[2];
    if (stride == 0)
        return weft_fail(MPI_ERR_ARG, "ranges[%d] has the stride 0", index);
    if ((first < last && stride < 0) || (first > last && stride > 0))
        return weft_fail(MPI_ERR_ARG, "ranges[%d] goes from %d to %d, but its stride is %d", index,
                         first, last, stride);
    int err = MPI_SUCCESS;
    for (long rank = first; err == MPI_SUCCESS && (stride > 0 ? rank <= last : rank >= last);
         rank += stride) {
        err = choose_member(choice, (int)rank);
        if (err != MPI_SUCCESS)
            weft_fail(err, "ranges[%d] goes from %d to %d, but rank %ld of group %s", index, first,
                      last, rank,
                      has_rank(choice->group, (int)rank) ? "is in ranges before"
                                                         : "does not exist");
    }
    return err;
}

static int make_of_ranges(weft_group_t *group, int count, int ranges[][3], bool is_rest,
                          weft_group_t **out)
{
    group_choice_t choice;
    int err = check_member_count(count, ranges, "ranges");
    if (err == MPI_SUCCESS)
        err = choice_open(&choice, group);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        err = choose_range(&choice, i, ranges[i]);
    return choice_close(&choice, err, is_rest, out);
}

int weft_group_include_ranges(weft_group_t *group, int count, int ranges[][3], weft_group_t **out)
{
    return make_of_ranges(group, count, ranges, false, out);
}

int weft_group_exclude_ranges(weft_group_t *group, int count, int ranges[][3], weft_group_t **out)
{
    return make_of_ranges(group, count, ranges, true, out);
}
