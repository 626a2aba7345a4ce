/* SPDX-License-Identifier: BSD-3-Clause */
/* What a wall knows of the neighbours of its member, where its communicator has a topology. */
#ifndef WEFT_COLL_WALL_WALL_NEIGHBORS_H
#define WEFT_COLL_WALL_WALL_NEIGHBORS_H

#include "coll/wall/wall.h"

/** Exchange with the neighbours what wall->neighbors needs; collective, with messages, on a wall
 * that has just got its members. `edges_most`: the most that lead away from a member. MPI_SUCCESS,
 * or an error with a text. */
int weft_wall_find_neighbors(weft_wall_t *wall, size_t edges_most);

/** Nobody calls on the wall any more. */
void weft_wall_forget_neighbors(weft_wall_t *wall);

#endif
