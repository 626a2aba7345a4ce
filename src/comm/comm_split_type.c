/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_split_type: parts whose ranks share a host, or something within a host. */
#include "comm/comm_make.h"

#include "comm/comm_split_private.h"
#include "base/fail.h"
#include "base/memory.h"

/* What each rank tells all others. */
typedef struct whereabouts {
    int level, key; /* as wanted */
    int host;       /* its first rank */
    int instances[WEFT_HARDWARE_KINDS];
} whereabouts_t;

static whereabouts_t find_whereabouts(int level, int key)
{
    whereabouts_t mine = {.level = level, .key = key, .host = weft_world.local_ranks[0]};
    if (level == WEFT_LEVEL_UNGUIDED || level >= 0)
        weft_hardware_find(mine.instances);
    return mine;
}

static int fail_no_room(const weft_comm_t *whole)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for what %d ranks say", whole->size);
}

static bool are_together(const whereabouts_t *one, const whereabouts_t *two, int level)
{
    if (one->level != two->level || one->level == WEFT_LEVEL_NONE || one->host != two->host)
        return false;
    return level < 0 ||
           (one->instances[level] >= 0 && one->instances[level] == two->instances[level]);
}

/* An unguided split takes the largest resource that not all ranks share; all find the same. */
static int first_dividing_level(const whereabouts_t all[], int count)
{
    int first = 0;
    while (all[first].level != WEFT_LEVEL_UNGUIDED)
        first++;
    for (int level = WEFT_LEVEL_HOST; level < WEFT_HARDWARE_KINDS; level++) {
        for (int rank = first; rank < count; rank++) {
            if (all[rank].level == WEFT_LEVEL_UNGUIDED &&
                !are_together(&all[first], &all[rank], level))
                return level;
        }
    }
    return WEFT_LEVEL_NONE;
}

static void choose_part(const whereabouts_t all[], const weft_comm_t *whole, int level,
                        weft_split_choice_t choices[])
{
    const whereabouts_t *own = &all[whole->rank];
    for (int rank = 0; rank < whole->size; rank++) {
        bool is_mine = level != WEFT_LEVEL_NONE && are_together(own, &all[rank], level);
        choices[rank] = (weft_split_choice_t){is_mine ? 0 : MPI_UNDEFINED, all[rank].key};
    }
}

/* With memory for what all ranks say. */
static int split_with_all(weft_comm_t *comm, const whereabouts_t *mine, whereabouts_t all[],
                          int *level_out, weft_comm_t **out)
{
    weft_comm_t *whole = weft_comm_whole(comm);
    weft_creation_t creation = wefti_creation_next(whole);
    weft_split_choice_t *choices = weft_alloc_array((size_t)whole->size, sizeof(*choices));
    int err = choices == NULL ? fail_no_room(whole)
                              : wefti_split_exchange(whole, mine, all, sizeof(*mine));
    if (err == MPI_SUCCESS) {
        bool is_guided = mine->level != WEFT_LEVEL_UNGUIDED;
        *level_out = is_guided ? mine->level : first_dividing_level(all, whole->size);
        choose_part(all, whole, *level_out, choices);
        err = wefti_split_join(comm, choices, &creation, out);
    }
    weft_free(choices);
    return err;
}

int weft_comm_split_by_level(weft_comm_t *comm, int *level, int key, weft_comm_t **out)
{
    const weft_comm_t *whole = weft_comm_whole(comm);
    whereabouts_t mine = find_whereabouts(*level, key);
    whereabouts_t *all = weft_alloc_array((size_t)whole->size, sizeof(*all));
    *out = NULL;
    int err = all == NULL ? fail_no_room(whole) : split_with_all(comm, &mine, all, level, out);
    weft_free(all);
    return err;
}
