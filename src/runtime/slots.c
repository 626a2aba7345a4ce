/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/slots.h"

/* Now and then a long packet goes another way, where the transport measures it. It sets baton_most
 * again afterwards. */
static void count_long(weft_slots_t *slots)
{
    if (++slots->baton_long < WEFT_BATON_LONG)
        return;
    slots->baton_long = 0;
    slots->baton_most = WEFT_BATON_SHORT;
}

bool weft_slots_put_long(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    if (header.bytes > slots->baton_most || slots->sent == slots->limit ||
        !weft_slots_use_baton(slots))
        return false;
    weft_copy_write(slots->baton->payload, payload, header.bytes);
    slots->has_baton = false;
    weft_slots_show(slots, slots->baton, header, weft_slots_baton_marks(slots));
    if (header.bytes > WEFT_BATON_SHORT)
        count_long(slots);
    return true;
}

bool weft_slots_send_long(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    if (!weft_slots_put_long(slots, header, payload))
        return false;
    weft_doorbell_ring(slots->doorbell);
    return true;
}
