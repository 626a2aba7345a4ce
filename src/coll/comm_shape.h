/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a communicator. It is found once for the group, which several communicators may
 * share. */
#ifndef WEFT_COLL_COMM_SHAPE_H
#define WEFT_COLL_COMM_SHAPE_H

#include "coll/team/shape.h"
#include "object/comm.h"

/**
 * room     where the shape is stored if it is not worth keeping: all ranks are on one node
 * out      `room`, or a shape that lives as long as the group
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM; MPI_ERR_OTHER when the launcher does not say where ranks
 *          are
 */
int weft_comm_shape(const weft_comm_t *comm, weft_shape_t *room, const weft_shape_t **out);

/** At the end of MPI: release the shapes that groups keep. */
void weft_comm_shapes_close(void);

#endif
