/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/nodes.h"

#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

static int *node_of;        /* [world size] by rank; NULL: not known, or all on one */
static int *firsts, *lasts; /* [count] world ranks */
static int count = 1;

/* Number the hosts by their lowest rank. */
static int number_anew(void)
{
    int next = 0, size = weft_world.size;
    int *numbers = weft_alloc_array((size_t)size, sizeof(*numbers));
    firsts = weft_alloc_array((size_t)size, sizeof(*firsts));
    lasts = weft_alloc_array((size_t)size, sizeof(*lasts));
    bool has_room = numbers != NULL && firsts != NULL && lasts != NULL;
    for (int i = 0; has_room && i < size; i++)
        numbers[i] = -1;
    for (int rank = 0; has_room && rank < size; rank++) {
        int *number = &numbers[node_of[rank]];
        if (*number < 0) {
            firsts[next] = rank;
            *number = next++;
        }
        node_of[rank] = *number;
        lasts[*number] = rank;
    }
    weft_free(numbers);
    count = next;
    /* both arrays have room for `size` hosts; if they cannot be made shorter, that is no failure */
    if (has_room) {
        int *shorter = weft_realloc(firsts, (size_t)count * sizeof(*firsts));
        firsts = shorter == NULL ? firsts : shorter;
        shorter = weft_realloc(lasts, (size_t)count * sizeof(*lasts));
        lasts = shorter == NULL ? lasts : shorter;
    }
    return has_room ? MPI_SUCCESS : weft_fail(MPI_ERR_NO_MEM, "a table of %d hosts", size);
}

static int find_node(void)
{
    int err = weft_world.wireup->find_nodes(node_of);
    return err == MPI_SUCCESS ? number_anew() : err;
}

int weft_nodes_open(void)
{
    if (node_of != NULL || weft_nodes_is_one())
        return MPI_SUCCESS;
    node_of = weft_alloc_array((size_t)weft_world.size, sizeof(*node_of));
    if (node_of == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a table of the hosts of %d ranks", weft_world.size);
    int err = find_node();
    if (err != MPI_SUCCESS)
        weft_nodes_close();
    for (int rank = 0; node_of != NULL && rank < weft_world.size; rank++)
        weft_processes.at[rank].node = node_of[rank];
    return err;
}

void weft_nodes_close(void)
{
    weft_free(node_of);
    weft_free(firsts);
    weft_free(lasts);
    node_of = firsts = lasts = NULL;
    count = 1;
}

bool weft_nodes_is_one(void)
{
    return weft_world.local_size == weft_world.size;
}

int weft_nodes_count(void)
{
    return count;
}

int weft_node_of(int process)
{
    return weft_processes.at == NULL ? 0 : weft_processes.at[process].node;
}

int weft_node_first(int node)
{
    return firsts == NULL ? 0 : firsts[node];
}

int weft_node_last(int node)
{
    return lasts == NULL ? weft_world.size - 1 : lasts[node];
}
