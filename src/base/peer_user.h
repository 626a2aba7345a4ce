/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which user is at the other end of a connection from this host, as the kernel tells it: a TCP
 * connection's from sock_diag(7), or from /proc/net/tcp where a container or a small kernel lacks
 * that, and a Unix socket's from SO_PEERCRED.
 */
#ifndef WEFT_BASE_PEER_USER_H
#define WEFT_BASE_PEER_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** Find out by a connection of this process to itself how the kernel can be asked; false: it tells
 *  nothing of the users of TCP connections. */
bool weft_peer_user_open(void);

/** false: the other end is not on this host, or has gone, or weft_peer_user_open() said so. */
bool weft_peer_user(int fd, uid_t *out);

#endif
