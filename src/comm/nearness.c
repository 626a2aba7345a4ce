/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/nearness.h"

#include "comm/comm_split_private.h"
#include "coll/comm_shape.h"
#include "base/fail.h"
#include "base/memory.h"

/* What each rank tells all others. */
typedef struct binding {
    int instances[WEFT_HARDWARE_KINDS];
} binding_t;

int wefti_nearness_of_hosts(const weft_comm_t *comm, weft_nearness_t *out)
{
    weft_shape_t room;
    const weft_shape_t *hosts;
    *out = (weft_nearness_t){.count = 1};
    int err = weft_comm_shape(comm, &room, &hosts);
    if (err == MPI_SUCCESS)
        out->levels[0] = *hosts;
    return err;
}

/* The tables of the first level belong to the group of the communicator. */
void wefti_nearness_close(weft_nearness_t *nearness)
{
    for (int level = 1; level < nearness->count; level++)
        weft_shape_close(&nearness->levels[level]);
    nearness->count = 1;
}

bool wefti_nearness_is_flat(const weft_nearness_t *nearness)
{
    return nearness->count == 1 && nearness->levels[0].nodes == 1;
}

int wefti_nearness_parent(const weft_nearness_t *nearness, int level, int part)
{
    if (level == 0)
        return 0;
    int rank = weft_shape_rank(&nearness->levels[level], part, 0);
    return weft_shape_node(&nearness->levels[level - 1], rank);
}

/* ---- dividing ---- */

/* The first rank of `part` that has the number of its member `local`. */
static int first_alike(const weft_shape_t *shape, int part, int local, const int number[])
{
    int own = number[weft_shape_rank(shape, part, local)], first = 0;
    while (number[weft_shape_rank(shape, part, first)] != own)
        first++;
    return weft_shape_rank(shape, part, first);
}

/* Ranks that share a new part get one number: that of its first rank. */
static void name_parts(const weft_shape_t *shape, const int number[], int parts[])
{
    for (int part = 0; part < shape->nodes; part++) {
        for (int local = 0; local < weft_shape_count(shape, part); local++)
            parts[weft_shape_rank(shape, part, local)] = first_alike(shape, part, local, number);
    }
}

int wefti_nearness_divide(weft_nearness_t *nearness, const int number[])
{
    const weft_shape_t *last = &nearness->levels[nearness->count - 1];
    weft_shape_t *next = &nearness->levels[nearness->count];
    int *parts = weft_alloc_array((size_t)last->ranks, sizeof(*parts));
    if (parts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the parts of %d ranks", last->ranks);
    name_parts(last, number, parts);
    int err = weft_shape_open(parts, last->ranks, last->ranks, next);
    weft_free(parts);
    if (err != MPI_SUCCESS)
        return err;
    if (next->nodes == last->nodes || next->most == 1)
        weft_shape_close(next);
    else
        nearness->count++;
    return MPI_SUCCESS;
}

/* ---- within hosts ---- */

static binding_t find_binding(void)
{
    binding_t binding;
    if (weft_hardware_is_bound()) {
        weft_hardware_find(binding.instances);
        return binding;
    }
    for (int kind = 0; kind < WEFT_HARDWARE_KINDS; kind++)
        binding.instances[kind] = -1;
    return binding;
}

static int divide_by_bindings(weft_nearness_t *nearness, const binding_t all[], int number[])
{
    int err = MPI_SUCCESS;
    for (int kind = 0; kind < WEFT_HARDWARE_KINDS && err == MPI_SUCCESS; kind++) {
        for (int rank = 0; rank < nearness->levels[0].ranks; rank++)
            number[rank] = all[rank].instances[kind];
        err = wefti_nearness_divide(nearness, number);
    }
    return err;
}

static int exchange_bindings(weft_comm_t *comm, weft_nearness_t *nearness)
{
    binding_t mine = find_binding();
    binding_t *all = weft_alloc_array((size_t)comm->size, sizeof(*all));
    int *number = weft_alloc_array((size_t)comm->size, sizeof(*number));
    int err =
        all == NULL || number == NULL
            ? weft_fail(MPI_ERR_NO_MEM, "no memory for what %d ranks are bound to", comm->size)
            : wefti_split_exchange(comm, &mine, all, sizeof(mine));
    if (err == MPI_SUCCESS)
        err = divide_by_bindings(nearness, all, number);
    weft_free(all);
    weft_free(number);
    return err;
}

int wefti_nearness_within_hosts(weft_comm_t *comm, weft_nearness_t *out)
{
    int err = wefti_nearness_of_hosts(comm, out);
    if (err != MPI_SUCCESS || out->levels[0].most <= 2)
        return err; /* two have but one distance */
    err = exchange_bindings(comm, out);
    if (err != MPI_SUCCESS)
        wefti_nearness_close(out);
    return err;
}
