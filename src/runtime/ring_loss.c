/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/ring_loss.h"

enum {
    SAMPLES = 4,
    COST_NS = 60,          /* of the clock, and for what is not copying */
    GOOD_SPEED = 24,       /* bytes in a ns: more is lost with a slower ring; */
    FAST_SHARE = 10,       /* of a faster one one ns in so many, or, */
    OTHERWISE_SHARE = 6,   /* with packets */
    OTHERWISE_LONG = 8192, /* of so many bytes that are not simply cached, in so many */
    BEST_SPEED = 32, /* by a large ring, with both ranks at work; more is lost by slower reads */
};

int64_t weft_ring_loss_of_sample(weft_ring_loss_t *loss, size_t bytes, int64_t ns, bool is_cached)
{
    float per_byte = ns > COST_NS ? (float)(ns - COST_NS) / (float)bytes : 0;
    if (loss->samples == 0 || per_byte < loss->least)
        loss->least = per_byte;
    loss->bytes += bytes;
    if (++loss->samples < SAMPLES)
        return 0;
    float lost = loss->least - 1.0F / GOOD_SPEED,
          share =
              loss->least / (is_cached || bytes < OTHERWISE_LONG ? FAST_SHARE : OTHERWISE_SHARE);
    int64_t all_ns =
        (int64_t)((lost > share ? lost : share) * (float)loss->bytes * WEFT_PACKETS_A_SAMPLE);
    loss->is_fast = lost <= 0;
    loss->samples = 0;
    loss->bytes = 0;
    return all_ns;
}

int64_t weft_ring_loss_of_read(size_t bytes, int64_t ns)
{
    int64_t lost = ns - (int64_t)(bytes / BEST_SPEED);
    return lost < 0 ? 0 : lost;
}
