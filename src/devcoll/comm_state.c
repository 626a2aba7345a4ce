/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/comm_state.h"

#include "coll/comm_shape.h"
#include "object/group.h"
#include "runtime/failures.h"
#include "runtime/world.h"
#include "base/memory.h"

typedef struct comm_state {
    weft_board_t *board; /* NULL: not claimed yet, or (has_no_board) there is none */
    bool has_no_board, is_one_host;
    int failures_seen; /* so many of weft_failures were looked at */
    bool has_lost;
    int lost; /* if has_lost: the first member on this host that has failed */
    void *methods[WEFT_METHODS];
} comm_state_t;

static int state_slot; /* the slot of communicators in which the state is kept */
static int released;   /* the boards of so many of weft_failures were released */

/* ---- members that have failed ---- */

/* Boards that the dead had claimed would never be free again. */
static void release_boards_of_dead(void)
{
    for (; released < weft_failures.count; released++) {
        int local_rank = weft_process_local_rank(weft_failures.at[released].process);
        if (local_rank >= 0)
            weft_boards_release_of(local_rank);
    }
}

static void look_for_lost(comm_state_t *state, const weft_comm_t *comm)
{
    for (; !state->has_lost && state->failures_seen < weft_failures.count; state->failures_seen++) {
        int process = weft_failures.at[state->failures_seen].process;
        state->has_lost = weft_process_local_rank(process) >= 0 &&
                          weft_group_rank_of(comm->group, process) != MPI_UNDEFINED;
        state->lost = process;
    }
}

int wefti_comm_lost(weft_comm_t *comm)
{
    comm_state_t *state = comm->slot[state_slot];
    if (state == NULL || weft_failures.count == 0)
        return WEFT_NO_PROCESS;
    look_for_lost(state, comm);
    return state->has_lost ? state->lost : WEFT_NO_PROCESS;
}

bool wefti_comm_member_has_failed(const weft_comm_t *comm, int member)
{
    weft_shape_t room;
    const weft_shape_t *shape;
    if (weft_comm_shape(comm, &room, &shape) != MPI_SUCCESS)
        return false;
    int rank = weft_shape_rank(shape, weft_shape_node(shape, comm->rank), member);
    return weft_has_failed(weft_comm_process(comm, rank));
}

/* ---- the state ---- */

static void devcoll_release_comm(weft_comm_t *comm, void *kept)
{
    comm_state_t *state = kept;
    (void)comm;
    release_boards_of_dead();
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
    released = 0;
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
    release_boards_of_dead();
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
