/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much may be on its way to a peer. Providers over sockets take whatever comes and keep it in
 * memory of their own, where neither side sees it: a fast sender would fill the receiver. So each
 * side says from time to time how much it has taken, and no more than WEFT_CREDIT_BYTES are out
 * beyond that.
 *
 * A packet counts for its bytes and for what it costs to keep, so that packets without payload are
 * bounded, too. Both sides count alike, from 0, in packets of the layer above and of this one.
 */
#ifndef WEFT_OFI_CREDIT_H
#define WEFT_OFI_CREDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* 40 us of 800 Gb/s: no network is slowed down by it. */
    WEFT_CREDIT_BYTES = 4 << 20,
    WEFT_CREDIT_PACKET = 2048,
};

typedef struct weft_credit_count {
    uint64_t sent, confirmed; /* to the peer; of these it has said that it took them */
    uint64_t taken, told;     /* from the peer; of these we have told it */
} weft_credit_count_t;

static inline uint64_t weft_credit_cost(size_t payload_bytes)
{
    return payload_bytes + WEFT_CREDIT_PACKET;
}

/** May another packet go out? What this layer itself has to say always may. */
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
