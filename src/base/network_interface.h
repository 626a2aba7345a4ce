/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a network interface, as far as it tells good ones from bad ones. */
#ifndef WEFT_BASE_NETWORK_INTERFACE_H
#define WEFT_BASE_NETWORK_INTERFACE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef enum weft_interface_rank {
    WEFT_INTERFACE_UNFIT, /* down, loopback, a bridge or a container's: other hosts are not there */
    WEFT_INTERFACE_VIRTUAL,
    WEFT_INTERFACE_REAL,
} weft_interface_rank_t;

typedef struct weft_interface {
    weft_interface_rank_t rank;
    const char *why; /* it is unfit; static */
    bool is_down;
    int speed_mbit; /* 0: not known */
} weft_interface_t;

/** Look at interface `name`. A name that is none of the kernel's interfaces (a device of an RDMA
 *  provider) is real. */
weft_interface_t weft_interface_look(const char *name);

/** The same as the user wants it: the interface that WEFT_FABRIC_INTERFACE names is real whatever
 * it is, and all others are unfit then. */
weft_interface_t weft_interface_choose(const char *name);

enum { WEFT_INTERFACE_NAME_BYTES = 32 };

/** An IPv4 or IPv6 address of an interface of this host. */
typedef struct weft_interface_address {
    char name[WEFT_INTERFACE_NAME_BYTES];
    struct sockaddr_storage address; /* without a port */
    in_addr_t mask;                  /* of an IPv4 address, in network order */
    bool is_up, is_loopback;         /* the interface */
} weft_interface_address_t;

/**
 * List all of them, in the kernel's order. Some hosts have hundreds: of containers, of services, on
 * lo.
 * out      [count_out], to be given to weft_free()
 * returns  MPI_SUCCESS; MPI_ERR_OTHER with a text; MPI_ERR_NO_MEM
 */
int weft_interface_addresses(weft_interface_address_t **out, size_t *count_out);

#endif
