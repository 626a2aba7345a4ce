/* SPDX-License-Identifier: BSD-3-Clause */
/* The network addresses of this host: where others may reach us. */
#ifndef WEFT_LAUNCH_PLAN_HOST_ADDRESSES_H
#define WEFT_LAUNCH_PLAN_HOST_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/** Is it an address of one of this host's interfaces, or a loopback address? */
bool wl_is_own_address(const struct sockaddr *address);

/**
 * "10.0.0.7 fd00::7": the addresses of this host's interfaces that are up, but for loopback and
 * link local ones. A virtual bridge's address is in it, which other hosts may have too: whoever
 * connects has to make sure that the right one answers. interface  NULL: all; else this one only
 * returns    MPI_SUCCESS; MPI_ERR_ARG when there is no such interface, or it has no address
 */
int wl_list_addresses(const char *interface, char *out, size_t bytes);

#endif
