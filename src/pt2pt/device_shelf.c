/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages by the sender's shelf (runtime/shelf.h). A ticket names one use of one piece: its place,
 * and how many uses of places there were before. So an answer that comes late, of a receiver whose
 * message has ended with an error, never gives back a piece that has other data by now.
 */
#include "pt2pt/device_private.h"

#include "runtime/shelf.h"
#include "base/log.h"

#include <string.h>
#include <unistd.h>

enum { PROCESS_SHIFT = 36 };

static weft_chunk_t *entered[WEFT_SHELF_PIECES]; /* by place; NULL: free */
static uint64_t uses; /* so far, and above them what no earlier process of this rank had */

static size_t shelf_place_of(uint64_t ticket)
{
    return ticket % WEFT_SHELF_PIECES;
}

static char *shelf_of_process(int process)
{
    bool are_there = weft_shelf_of(0) != NULL;
    return are_there ? weft_shelf_of(weft_process_local_rank(process)) : NULL;
}

/* ---- who may use a shelf ---- */

/* For the first message, registering costs more than it saves if that is short. */
bool wefti_shelf_is_read(int source, weft_device_t *device, size_t bytes)
{
    char *shelf = shelf_of_process(source);
    if (bytes <= WEFT_QUICK_BYTES || source == weft_processes.self || shelf == NULL)
        return false;
    return device == NULL || weft_device->pin_shared(device, shelf, WEFT_SHELF_BYTES);
}

bool wefti_shelf_is_written(weft_device_t *device)
{
    char *shelf = shelf_of_process(weft_processes.self);
    return shelf != NULL && weft_device->pin_shared(device, shelf, WEFT_SHELF_BYTES);
}

/* ---- tickets ---- */

uint64_t wefti_shelf_enter(weft_chunk_t *chunk)
{
    const char *shelf = shelf_of_process(weft_processes.self);
    size_t place = (size_t)(chunk->slot - shelf) / WEFT_SHELF_PIECE;
    entered[place] = chunk;
    if (uses == 0)
        uses = (uint64_t)getpid() << PROCESS_SHIFT;
    return ++uses * WEFT_SHELF_PIECES + place;
}

void wefti_shelf_leave(const weft_chunk_t *chunk)
{
    entered[shelf_place_of(chunk->ticket)] = NULL;
}

/* Sends that nobody has ended may still have pieces. */
void wefti_shelf_close(void)
{
    memset(entered, 0, sizeof(entered));
}

void wefti_shelf_answer(weft_endpoint_t *endpoint, uint64_t ticket)
{
    wefti_send_answer(endpoint, WEFT_PACKET_TAKEN, ticket, NULL);
}

void wefti_shelf_taken(int source, const weft_header_t *header, const void *payload)
{
    (void)payload;
    uint64_t ticket = weft_header_number(header);
    weft_chunk_t *chunk = entered[shelf_place_of(ticket)];
    if (chunk != NULL && chunk->ticket == ticket && chunk->filled == chunk->bytes &&
        wefti_device_send_reader(chunk) == weft_process_reached(source))
        wefti_device_send_taken(chunk);
}

/* ---- the receiver ---- */

static void take_placed(weft_recv_t *recv, weft_endpoint_t *endpoint, char *piece,
                        const weft_placed_t *placed)
{
    if (recv->device != NULL) {
        wefti_device_recv_placed(recv, piece, placed);
        return;
    }
    wefti_recv_more(recv, piece, placed->bytes);
    wefti_shelf_answer(endpoint, placed->ticket);
}

/* A piece that belongs to no receive is given back, too: this rank may have heard of a failure that
 * its sender has not heard of yet. */
void wefti_shelf_placed(int source, const weft_header_t *header, const void *payload)
{
    weft_placed_t placed;
    weft_endpoint_t *endpoint = weft_process_reached(source);
    char *shelf = shelf_of_process(source);
    memcpy(&placed, payload, sizeof(placed));
    if (endpoint == NULL || shelf == NULL || placed.bytes > WEFT_SHELF_PIECE) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed PLACED packet of rank %d", source);
        return;
    }
    weft_recv_t *recv = wefti_recv_named(source, header);
    if (recv != NULL && placed.bytes <= recv->message_bytes - recv->arrived)
        take_placed(recv, endpoint, shelf + shelf_place_of(placed.ticket) * WEFT_SHELF_PIECE,
                    &placed);
    else
        wefti_shelf_answer(endpoint, placed.ticket);
}

void wefti_shelf_refused(int source, const weft_header_t *header, const void *payload)
{
    (void)payload;
    weft_recv_t *recv = wefti_recv_named(source, header);
    if (recv != NULL && recv->device != NULL)
        wefti_device_recv_no_shelf(recv);
}
