/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making communicators: the members agree on a context (context_agree.h), the only thing to agree
 * on.
 *
 *   dup, idup      all members of the old communicator
 *   split          those with one colour, after an allgather of (colour, key)
 *   create         the members of the group alone
 *
 * A member that cannot make its part takes part in the agreement all the same, and all fail
 * together.
 */
#ifndef WEFT_COMM_COMM_MAKE_H
#define WEFT_COMM_COMM_MAKE_H

#include "object/comm.h"
#include "object/request.h"

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

/** The largest tag that weft_comm_create_of keeps apart from all others. */
enum { WEFT_CREATE_TAG = 0x1fffffff };

/**
 * A communicator of `group`, a subset of comm's, of which the caller is a member. Collective over
 * the group alone.
 *
 * tag  distinguishes the calls of several threads at once; WEFT_CREATE_TAG: MPI_Comm_create
 */
int weft_comm_create_of(weft_comm_t *comm, weft_group_t *group, int tag, weft_comm_t **out);

#endif
