/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the hub is, as a store says it (hub_record.c has the picture). */
#ifndef WEFT_PMI_HUB_RECORD_PRIVATE_H
#define WEFT_PMI_HUB_RECORD_PRIVATE_H

#include "pmi/hub_private.h"

enum { HUB_ADDRESSES = 32, HUB_IDENTITY_BYTES = 640 };

typedef struct hub_address {
    uint8_t is_wide, bytes[16]; /* IPv6 or IPv4, in network order */
} hub_address_t;

typedef struct hub_record {
    char magic[8];
    uint16_t port; /* in network order */
    uint8_t count; /* of addresses */
    uint8_t secret[WEFT_SECRET_BYTES];
    char host[HUB_IDENTITY_BYTES]; /* of wefti_hub_identify_host() */
    hub_address_t addresses[HUB_ADDRESSES];
} hub_record_t;

/** Tell the store where the hub of rank 0 is; makes plan->secret. */
int wefti_hub_record_put(weft_hub_plan_t *plan, int port);

/** Read what the store says, waiting limit_ms at most. MPI_ERR_UNSUPPORTED_OPERATION, without a
 *  text: it says nothing yet; MPI_ERR_OTHER. */
int wefti_hub_record_get(const weft_hub_plan_t *plan, int limit_ms, hub_record_t *out);

#endif
