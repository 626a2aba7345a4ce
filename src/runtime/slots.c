/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/slots.h"

#include "mpi.h"

/* Now and then a long packet goes another way, where the transport measures it, and says afterwards
 * how long they may be. */
static void count_long(weft_slots_t *slots)
{
    if (++slots->baton_long < WEFT_BATON_LONG)
        return;
    slots->baton_long = 0;
    weft_slots_allow(slots, WEFT_BATON_SHORT);
}

void weft_slots_put_long(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    weft_copy_write(slots->baton->payload, payload, header.bytes);
    weft_slots_pass_baton(slots, header);
    if (header.bytes > WEFT_BATON_SHORT)
        count_long(slots);
}

void weft_slots_wake(const weft_slots_t *slots, uint8_t kind, unsigned set_to)
{
    if (kind != WEFT_UNANSWERED || (set_to & slots->vci_bit) != 0)
        weft_doorbell_wake(slots->doorbell);
}

int weft_slots_send_now(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    if (__builtin_expect(header.bytes <= WEFT_COPY_SMALL, 1))
        weft_slots_put_small(slots, header, payload);
    else
        weft_slots_put_long(slots, header, payload);
    weft_slots_ring(slots, header.kind);
    return MPI_SUCCESS;
}
