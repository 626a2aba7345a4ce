/* SPDX-License-Identifier: BSD-3-Clause */
/* What this folder keeps with a communicator: its board for meetings, and the state of methods. */
#ifndef WEFT_DEVCOLL_COMM_STATE_H
#define WEFT_DEVCOLL_COMM_STATE_H

#include "devcoll/method.h"
#include "runtime/meeting.h"

/** The board of the communicator's ranks on this host, claimed at the first use. NULL if there is
 * none: then they cannot meet. */
weft_board_t *wefti_comm_board(weft_comm_t *comm);

/** Are all ranks on this host? Only for a communicator that has a board. */
bool wefti_comm_is_one_host(weft_comm_t *comm);

/** A process of this host that has failed and belongs to the communicator; WEFT_NO_PROCESS if there
 * is none. Then its ranks on this host do not meet any more. */
int wefti_comm_lost(weft_comm_t *comm);

/** Has the member with this number on this host failed? Only for a communicator with a board. */
bool wefti_comm_member_has_failed(const weft_comm_t *comm, int member);

/** What a method keeps with this communicator; NULL: nothing yet. */
void *wefti_comm_method_state(const weft_comm_t *comm, weft_method_index_t method);

/** Keep `state` for the method, until the method's `release` gets it. Returns false if there is no
 * memory. */
bool wefti_comm_keep_method_state(weft_comm_t *comm, weft_method_index_t method, void *state);

/** Called at start-up. Returns MPI_SUCCESS, or MPI_ERR_INTERN with a text. */
int wefti_comm_state_open(void);

#endif
