/* SPDX-License-Identifier: BSD-3-Clause */
/* The link from a daemon to its parent in the host tree. The daemon reads from its stdin its
 * number, where the parent can be reached, and the secret; then it connects. */
#ifndef WEFT_LAUNCH_TREE_PARENT_LINK_H
#define WEFT_LAUNCH_TREE_PARENT_LINK_H

#include "base/handshake.h"

typedef struct wl_parent_link {
    uint8_t secret[WEFT_SECRET_BYTES];
    int node; /* the daemon's number in the host tree */
    int port;
    char addresses[2048]; /* separated by blanks */
} wl_parent_link_t;

enum { WL_PARENT_LINK_TEXT_BYTES = 2304 };

/** Of the handshake between a daemon (the caller, whose name is its node number, 32 bits, little
 *  endian) and its parent. */
extern const char wl_daemon_protocol[WEFT_PROTOCOL_BYTES];

/** Write it as text for the daemon's stdin. */
void wl_parent_link_write(const wl_parent_link_t *parent_link, char out[WL_PARENT_LINK_TEXT_BYTES]);

/** Read it from `fd`. MPI_ERR_ARG: there is no such text. */
int wl_parent_link_read(int fd, wl_parent_link_t *out);

/**
 * Connect to the parent: all addresses are tried at once, and the first one is taken that proves to
 * know the secret. Blocks for 30 s at most.
 * returns  MPI_SUCCESS and a socket; MPI_ERR_PORT: no address leads to the parent
 */
int wl_parent_link_connect(const wl_parent_link_t *parent_link, int *fd_out);

#endif
