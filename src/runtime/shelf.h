/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shelves: where no device reaches the memory of another one, messages go by memory of the host
 * that both devices reach. Each rank of the host has a shelf of pieces in the memory that all ranks
 * share, and it alone writes there; any other rank may read.
 *
 *   sender's device --> piece on the sender's shelf --> receiver's device
 *
 * The owner takes a piece, and gives it back when it has heard that the receiver has read it. A
 * rank that dies while it reads a piece thus does no harm, nor does one that dies while others read
 * its pieces. A page of a shelf costs no memory before it is used.
 */
#ifndef WEFT_RUNTIME_SHELF_H
#define WEFT_RUNTIME_SHELF_H

#include <stddef.h>

enum {
    WEFT_SHELF_PIECE = 256 * 1024,
    WEFT_SHELF_PIECES = 16,
    WEFT_SHELF_BYTES = WEFT_SHELF_PIECE * WEFT_SHELF_PIECES,
};

/** Bytes of the shelves of a host with `ranks` ranks. */
size_t weft_shelves_bytes(int ranks);

/** Called by the transport within the host. `memory` begins with a page; NULL: there are no
 * shelves. */
void weft_shelves_open(void *memory, int ranks, int local_rank);
void weft_shelves_close(void);

/** The shelf of a rank; NULL: there is none. */
char *weft_shelf_of(int local_rank);

/** Take a piece of this rank's own shelf; NULL: none is free. */
char *weft_shelf_take(void);
void weft_shelf_give(const char *piece);

#endif
