/* SPDX-License-Identifier: BSD-3-Clause */
/* What this folder keeps with a communicator: its board for meetings, and the state of methods. */
#ifndef WEFT_DEVCOLL_COMM_STATE_H
#define WEFT_DEVCOLL_COMM_STATE_H

#include "devcoll/method.h"
#include "runtime/meeting.h"

/** The board of the communicator's ranks on this host, claimed at the first use. NULL: it has none,
 *  and they cannot meet. */
weft_board_t *wefti_comm_board(weft_comm_t *comm);

/** Are all ranks on this host? Only of a communicator with a board. */
bool wefti_comm_is_one_host(weft_comm_t *comm);

/** What a method keeps with this communicator; NULL: nothing yet. */
void *wefti_comm_method_state(const weft_comm_t *comm, weft_method_index_t method);

/** From now on it keeps this, which the method's `release` gets in the end. False: no memory. */
bool wefti_comm_keep_method_state(weft_comm_t *comm, weft_method_index_t method, void *state);

/** At start-up; MPI_ERR_INTERN with a text. */
int wefti_comm_state_open(void);

#endif
