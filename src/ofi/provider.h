/* SPDX-License-Identifier: BSD-3-Clause */
/* Which providers of libfabric may be used, best first, and which capabilities Weft asks for. */
#ifndef WEFT_OFI_PROVIDER_H
#define WEFT_OFI_PROVIDER_H

#include "runtime/transport.h"

#include <rdma/fabric.h>
#include <stdbool.h>

/** A provider with its interfaces. */
typedef struct weft_provider {
    const char *name;                            /* as asked for */
    struct fi_info *info;                        /* what libfabric offers of it; owns `rails` */
    const struct fi_info *rails[WEFT_RAILS_MAX]; /* the interfaces to be used, best first */
    int rail_count;
} weft_provider_t;

/** Is libfabric to be tried at all: has the user asked for it, or is there a device that needs it?
 */
bool weft_provider_is_wanted(void);

/** Did the user ask for a provider (WEFT_FABRIC, FI_PROVIDER)? */
bool weft_provider_is_demanded(void);

/**
 * The provider at place `index` of the order (0, 1, ...).
 * returns  MPI_SUCCESS: to be given to weft_provider_release(); MPI_ERR_UNSUPPORTED_OPERATION: it
 *          does not work on this host, with a text; MPI_ERR_OTHER: the order has no such place
 */
int weft_provider_find(int index, weft_provider_t *out);
void weft_provider_release(weft_provider_t *provider);

#endif
