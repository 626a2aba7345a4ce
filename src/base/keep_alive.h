/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that vanishes closes no connection, so the kernel probes a connection that is idle. */
#ifndef WEFT_BASE_KEEP_ALIVE_H
#define WEFT_BASE_KEEP_ALIVE_H

enum { WEFT_LOST_AFTER_LEAST_S = 3 /* below that a busy host would be taken for a lost one */ };

/** Have the kernel give up a connection on which nothing was sent and nothing arrived for about
 *  `limit_s` seconds, WEFT_LOST_AFTER_LEAST_S at least. Sent bytes that are not acknowledged are
 *  not covered. */
void weft_keep_alive(int fd, int limit_s);

#endif
