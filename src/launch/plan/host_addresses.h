/* SPDX-License-Identifier: BSD-3-Clause */
/* The network addresses under which other hosts may reach this one. */
#ifndef WEFT_LAUNCH_PLAN_HOST_ADDRESSES_H
#define WEFT_LAUNCH_PLAN_HOST_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/** Is the loopback interface down, so that no TCP connects processes of this host? */
bool wl_is_loopback_down(void);

/** Is it an address of one of this host's interfaces, or a loopback address? */
bool wl_is_own_address(const struct sockaddr *address);

/** Read "10.0.0.7" or "fd00::7"; false: it is no address. */
bool wl_parse_address(const char *text, int port, struct sockaddr_storage *out,
                      socklen_t *bytes_out);

/**
 * Write "10.0.0.7 fd00::7": the addresses of this host's interfaces that are up, without loopback
 * and link-local ones. The address of a virtual bridge is among them, which other hosts may have
 * too, so the two ends of a connection must authenticate each other.
 * interface  use this interface only; NULL: all
 * returns    MPI_SUCCESS; MPI_ERR_ARG: there is no such interface, or it has no address
 */
int wl_list_addresses(const char *interface, char *out, size_t bytes);

#endif
