/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is part of a graph (a record, say), and how the library learns that the graph is gone. The
 * driver is given a ticket for it, not the record itself: a graph may be destroyed after MPI has
 * ended, when the record is gone.
 *
 *   record <-> ticket <- graph, and all that was made of it
 *
 * When the graph is gone, a thread of the driver puts the ticket on a stack; the library's thread,
 * or the next call that captures, releases the record and frees the ticket. When the record is
 * gone, the ticket refers to no record. Tickets also tell that a stream has come to a place.
 */
#include "stream/stream_private.h"

#include "base/memory.h"

struct weft_ticket {
    void (*returned)(void *owner);
    void *owner; /* NULL: it is gone */
    weft_ticket_t *next;
};

static _Atomic(weft_ticket_t *) returned; /* a stack */

weft_ticket_t *wefti_ticket_create(void (*has_returned)(void *owner), void *owner)
{
    weft_ticket_t *ticket = weft_alloc(sizeof(*ticket));
    if (ticket != NULL)
        *ticket = (weft_ticket_t){has_returned, owner, NULL};
    return ticket;
}

void wefti_ticket_void(weft_ticket_t *ticket)
{
    if (ticket != NULL)
        ticket->owner = NULL;
}

void wefti_ticket_free(weft_ticket_t *ticket)
{
    weft_free(ticket);
}

/* Runs in a thread of the driver, where it may not call the driver, nor wait for the library's
 * lock. */
void wefti_ticket_return(void *given)
{
    weft_ticket_t *ticket = given, *top = atomic_load(&returned);
    do {
        ticket->next = top;
    } while (!atomic_compare_exchange_weak(&returned, &top, ticket));
    wefti_stream_ring();
}

void wefti_tickets_collect(void)
{
    weft_ticket_t *ticket = atomic_exchange(&returned, NULL);
    for (weft_ticket_t *next; ticket != NULL; ticket = next) {
        void (*has_returned)(void *owner) = ticket->returned;
        void *owner = ticket->owner;
        next = ticket->next;
        weft_free(ticket);
        if (owner != NULL)
            has_returned(owner);
    }
}
