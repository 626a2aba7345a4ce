/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon reads from its stdin: who it is, and where the one that started it can be reached.
 */
#ifndef WEFT_LAUNCH_TREE_PARENT_LINK_H
#define WEFT_LAUNCH_TREE_PARENT_LINK_H

#include "base/keyed_hash.h"

typedef struct weft_call {
    uint8_t secret[WEFT_SECRET_BYTES];
    int node; /* the daemon's number in the host tree */
    int port;
    char addresses[2048]; /* with blanks between them */
} weft_call_t;

enum { WEFT_CALL_TEXT_BYTES = 2304 };

/** As text for the daemon's stdin. */
void weft_call_write(const weft_call_t *call, char out[WEFT_CALL_TEXT_BYTES]);

/** Read it from `fd`. MPI_ERR_ARG: it is not there. */
int weft_call_read(int fd, weft_call_t *out);

/**
 * Connect: all addresses are tried at once, the first that knows the secret is taken. Waits, for
 * some seconds.
 * returns  MPI_SUCCESS and a socket; MPI_ERR_PORT: none answers
 */
int weft_call_connect(const weft_call_t *call, int *fd_out);

#endif
