/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making communicators: how the members agree on a context, the only thing to agree on.
 *
 *   dup            rank 0 gives a context to all (broadcast)
 *   split          all offer (colour, key, context); the first of each new group leads (allgather)
 *   create         the group's first member leads, its context goes down a tree of the members
 *
 * A leader that has no context left gives WEFT_NO_CONTEXT, and all members fail together.
 */
#ifndef WEFT_COMM_COMM_MAKE_H
#define WEFT_COMM_COMM_MAKE_H

#include "object/comm.h"
#include "object/request.h"

#include <stdint.h>

/** The context of MPI_COMM_WORLD, which no other communicator has. */
enum { WEFT_NO_CONTEXT = 0 };

/** A context for a new communicator, or WEFT_NO_CONTEXT. */
uint32_t weft_context_offer(void);

/** Check the context that the leader gave: MPI_ERR_OTHER for WEFT_NO_CONTEXT. */
int weft_context_check(uint32_t context);

/** A copy of `comm` with its attributes (section 7.4.2), no hints, one reference. Collective.
 * Errors: those of a copy callback, MPI_ERR_NO_MEM, MPI_ERR_OTHER. */
int weft_comm_dup(weft_comm_t *comm, weft_comm_t **out);

/** As weft_comm_dup, but *out may be used only when the request is complete. */
int weft_comm_idup(weft_comm_t *comm, weft_comm_t **out, weft_request_t **request_out);

/** Free the requests of weft_comm_idup. */
void weft_comm_idups_close(void);

/** One communicator for each colour, ordered by (key, rank in comm); NULL for colour MPI_UNDEFINED.
 *  Collective over comm. */
int weft_comm_split(weft_comm_t *comm, int color, int key, weft_comm_t **out);

/** The tag of MPI_Comm_create for weft_comm_create_of, which takes the user's tags modulo this. */
enum { WEFT_CREATE_TAG = 0x3fffffff };

/**
 * A communicator of `group`, a subset of comm's, of which the caller is a member. Collective over
 * the group alone.
 *
 * tag  distinguishes the calls of several threads at once; WEFT_CREATE_TAG: MPI_Comm_create
 */
int weft_comm_create_of(weft_comm_t *comm, weft_group_t *group, int tag, weft_comm_t **out);

#endif
