/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records that are part of a graph, and how the library learns that the graph is gone. The driver
 * is given a ticket for each record, not the record itself: a graph may be destroyed after MPI has
 * ended, when the record is gone.
 *
 *   record <-> ticket <- graph, and all that was made of it
 *
 * When the graph is gone, a thread of the driver puts the ticket on a stack; the library's thread,
 * or the next call that captures, releases the record and frees the ticket. When the record is
 * gone, the ticket refers to no record.
 */
#include "stream/stream_private.h"

#include "base/memory.h"

struct weft_ticket {
    enqueued_t *record; /* NULL: the record is gone */
    weft_ticket_t *next;
};

static _Atomic(weft_ticket_t *) returned; /* a stack */

weft_ticket_t *wefti_ticket_create(enqueued_t *record)
{
    weft_ticket_t *ticket = weft_alloc(sizeof(*ticket));
    if (ticket != NULL)
        *ticket = (weft_ticket_t){record, NULL};
    record->ticket = ticket;
    return ticket;
}

void wefti_ticket_void(enqueued_t *record)
{
    if (record->ticket != NULL)
        record->ticket->record = NULL;
    record->ticket = NULL;
}

void wefti_ticket_release(enqueued_t *record)
{
    weft_free(record->ticket);
    record->ticket = NULL;
}

/* Runs in a thread of the driver, where it may not call the driver, nor wait for the library's
 * lock. */
void wefti_ticket_return(void *owner)
{
    weft_ticket_t *ticket = owner, *top = atomic_load(&returned);
    do {
        ticket->next = top;
    } while (!atomic_compare_exchange_weak(&returned, &top, ticket));
    wefti_stream_ring();
}

void wefti_tickets_collect(void)
{
    weft_ticket_t *ticket = atomic_exchange(&returned, NULL);
    for (weft_ticket_t *next; ticket != NULL; ticket = next) {
        enqueued_t *record = ticket->record;
        next = ticket->next;
        weft_free(ticket);
        if (record == NULL)
            continue;
        record->ticket = NULL;
        wefti_enqueued_graph_gone(record);
    }
}
