/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of a network interface, as far as it tells good ones from bad ones. */
#ifndef WEFT_BASE_NETWORK_INTERFACE_H
#define WEFT_BASE_NETWORK_INTERFACE_H

#include <stdbool.h>

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

#endif
