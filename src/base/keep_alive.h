/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that vanishes says nothing: sockets that have nothing on its way ask now and then. */
#ifndef WEFT_BASE_KEEP_ALIVE_H
#define WEFT_BASE_KEEP_ALIVE_H

enum { WEFT_LOST_AFTER_LEAST_S = 3 /* below that a busy host would be taken for a lost one */ };

/** Have the kernel give up a connection over which nothing came, and was sent, for about `limit_s`
 *  seconds, WEFT_LOST_AFTER_LEAST_S at least. What was sent and is not acknowledged is another matter. */
void weft_keep_alive(int fd, int limit_s);

#endif
