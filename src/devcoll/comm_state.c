/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/comm_state.h"

#include "coll/comm_shape.h"
#include "base/memory.h"

typedef struct comm_state {
    weft_board_t *board; /* NULL: not claimed yet, or (has_no_board) there is none */
    bool has_no_board, is_one_host;
    void *methods[WEFT_METHODS];
} comm_state_t;

static int state_slot; /* the slot of communicators in which the state is kept */

static void devcoll_release_comm(weft_comm_t *comm, void *kept)
{
    comm_state_t *state = kept;
    (void)comm;
    for (int i = 0; i < WEFT_METHODS; i++) {
        if (state->methods[i] != NULL)
            weft_device_methods[i]->release(state->methods[i]);
    }
    if (state->board != NULL)
        weft_board_release(state->board);
    weft_free(state);
}

int wefti_comm_state_open(void)
{
    state_slot = weft_comm_slot_register("devcoll", devcoll_release_comm);
    return state_slot < 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

/* Returns NULL if there is no memory. */
static comm_state_t *comm_state_state_of(weft_comm_t *comm)
{
    if (comm->slot[state_slot] == NULL)
        comm->slot[state_slot] = weft_alloc_zeroed(1, sizeof(comm_state_t));
    return comm->slot[state_slot];
}

static void comm_state_claim_board(comm_state_t *state, const weft_comm_t *comm)
{
    weft_shape_t room;
    const weft_shape_t *shape;
    state->has_no_board = true;
    if (weft_comm_shape(comm, &room, &shape) != MPI_SUCCESS)
        return;
    int node = weft_shape_node(shape, comm->rank), members = weft_shape_count(shape, node),
        first = 0;
    int lowest = weft_comm_process(comm, weft_shape_rank(shape, node, 0));
    while (first < weft_world.local_size && weft_world.local_ranks[first] != lowest)
        first++;
    if (members == 1 || members > WEFT_MEMBERS_MAX || first == weft_world.local_size)
        return;
    state->board = weft_board_claim(comm->context, first);
    state->is_one_host = shape->nodes == 1;
}

weft_board_t *wefti_comm_board(weft_comm_t *comm)
{
    comm_state_t *state = comm_state_state_of(comm);
    if (state != NULL && state->board == NULL && !state->has_no_board)
        comm_state_claim_board(state, comm);
    return state == NULL ? NULL : state->board;
}

bool wefti_comm_is_one_host(weft_comm_t *comm)
{
    const comm_state_t *state = comm->slot[state_slot];
    return state != NULL && state->is_one_host;
}

void *wefti_comm_method_state(const weft_comm_t *comm, weft_method_index_t method)
{
    const comm_state_t *state = comm->slot[state_slot];
    return state == NULL ? NULL : state->methods[method];
}

bool wefti_comm_keep_method_state(weft_comm_t *comm, weft_method_index_t method, void *method_state)
{
    comm_state_t *state = comm_state_state_of(comm);
    if (state != NULL)
        state->methods[method] = method_state;
    return state != NULL;
}
