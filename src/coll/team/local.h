/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a node work among themselves: the radix of a tree, and the number of pieces that
 * data are cut into. */
#ifndef WEFT_COLL_TEAM_LOCAL_H
#define WEFT_COLL_TEAM_LOCAL_H

#include "coll/plan.h"

#include <stdbool.h>

enum { WEFT_LOCAL_RADIX = 4, WEFT_LOCAL_FLAT_RANKS = 8, WEFT_LOCAL_FLAT_BYTES = 32768 };

/**
 * The radix of a tree over `size` ranks of a node. `bytes` is the size of a message that all of
 * them copy; it is 0 where the root alone works on the messages, as in a reduction. A radix of
 * `size` or more is a flat tree.
 *
 * On an oversubscribed host the number of times that a rank must be scheduled counts, so the tree
 * is flat. It is also flat for few ranks, whose messages the root takes one by one as fast as
 * a tree brings them, and for long messages, which all receivers copy at once.
 */
static inline int weft_local_radix(int size, double bytes, bool is_oversubscribed)
{
    bool is_flat =
        is_oversubscribed || size <= WEFT_LOCAL_FLAT_RANKS || bytes >= WEFT_LOCAL_FLAT_BYTES;
    return is_flat && size > 2 ? size : is_flat ? 2 : WEFT_LOCAL_RADIX;
}

/** The same for a plan that is being written. */
static inline int weft_plan_local_radix(const weft_plan_t *plan, int size, size_t bytes)
{
    return weft_local_radix(size, (double)bytes, plan->how.is_oversubscribed);
}

/** The number of pieces into which `bytes` bytes are cut that pass through several stages one after
 * the other. It is the same on all ranks. */
static inline int weft_plan_pieces(size_t bytes, size_t segment_bytes)
{
    enum { WEFT_PIECES_MAX = 16 };
    if (segment_bytes == 0 || bytes <= segment_bytes)
        return 1;
    size_t pieces = (bytes + segment_bytes - 1) / segment_bytes;
    return pieces < WEFT_PIECES_MAX ? (int)pieces : WEFT_PIECES_MAX;
}

#endif
