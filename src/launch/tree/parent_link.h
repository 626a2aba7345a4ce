/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon reads from its stdin: who it is, and where the one that started it can be reached.
 */
#ifndef WEFT_LAUNCH_TREE_PARENT_LINK_H
#define WEFT_LAUNCH_TREE_PARENT_LINK_H

#include "base/keyed_hash.h"

typedef struct wl_parent_link {
    uint8_t secret[WEFT_SECRET_BYTES];
    int node; /* the daemon's number in the host tree */
    int port;
    char addresses[2048]; /* with blanks between them */
} wl_parent_link_t;

enum { WL_PARENT_LINK_TEXT_BYTES = 2304 };

/** As text for the daemon's stdin. */
void wl_parent_link_write(const wl_parent_link_t *parent_link, char out[WL_PARENT_LINK_TEXT_BYTES]);

/** Read it from `fd`. MPI_ERR_ARG: it is not there. */
int wl_parent_link_read(int fd, wl_parent_link_t *out);

/**
 * Connect: all addresses are tried at once, the first that knows the secret is taken. Waits, for
 * some seconds.
 * returns  MPI_SUCCESS and a socket; MPI_ERR_PORT: none answers
 */
int wl_parent_link_connect(const wl_parent_link_t *parent_link, int *fd_out);

#endif
