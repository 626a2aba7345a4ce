/* SPDX-License-Identifier: BSD-3-Clause */
/* Revoking a communicator at all its members. */
#ifndef WEFT_FT_REVOKE_H
#define WEFT_FT_REVOKE_H

#include "object/comm.h"

/**
 * What waits on `comm` at this process ends with MPIX_ERR_REVOKED, and so does what begins later;
 * all other members are told, and whoever hears it passes it on, so that it reaches all that live
 * even if this process dies at once. May be called again. MPI_ERR_NO_MEM.
 */
int weft_comm_revoke(weft_comm_t *comm);

#endif
