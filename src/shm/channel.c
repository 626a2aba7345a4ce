/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/channel.h"

void weft_channel_refresh(weft_channel_out_t *out)
{
    const weft_credit_t *credit = out->channel.credit;
    out->slots_limit = atomic_load_explicit(&credit->slots, memory_order_acquire) + WEFT_SLOTS;
    out->units_limit =
        atomic_load_explicit(&credit->units, memory_order_acquire) + out->channel.units;
    *out->is_throttled = atomic_load_explicit(&credit->is_throttled, memory_order_relaxed) != 0;
}
