/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much may be on its way to a peer. Providers over sockets take all packets and keep them in
 * memory of their own, which neither side can bound: a fast sender would fill the receiver's
 * memory. So each side tells the other from time to time how much it has taken, and a sender sends
 * no more than WEFT_CREDIT_BYTES beyond that.
 *
 * A packet counts with its payload and WEFT_CREDIT_PACKET, so that packets without payload are
 * bounded, too. Both sides count alike, from 0, packets of the layer above and of this transport.
 */
#ifndef WEFT_OFI_CREDIT_H
#define WEFT_OFI_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* What 800 Gb/s carry in 40 us, so that it slows no network down. */
    WEFT_CREDIT_BYTES = 4 << 20,
    WEFT_CREDIT_PACKET = 2048,
};

typedef struct weft_credit_count {
    uint64_t sent, confirmed; /* to the peer; of these the peer has confirmed so many */
    uint64_t taken, told;     /* from the peer; of these so many were confirmed to it */
} weft_credit_count_t;

static inline uint64_t weft_credit_cost(size_t payload_bytes)
{
    return payload_bytes + WEFT_CREDIT_PACKET;
}

/** May another packet of the layer above go out? Those of this transport always may. */
static inline bool weft_credit_is_left(const weft_credit_count_t *count)
{
    return count->sent - count->confirmed < WEFT_CREDIT_BYTES;
}

/** Is it time to tell the peer what was taken? */
static inline bool weft_credit_must_tell(const weft_credit_count_t *count)
{
    return count->taken - count->told >= WEFT_CREDIT_BYTES / 2;
}

#endif
