/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/traffic.h"

#include "runtime/process.h"
#include "tool/tool.h"
#include "base/memory.h"

#include <string.h>

int weft_traffic_watched;
weft_traffic_t *weft_traffic_of_network;

/* By process. Without memory for more, those that have no entry count for their transport only. */
static weft_traffic_t *peers;
static int peer_count;

/* With the tool's lock, since a thread of a tool may read the table. */
static void grow_peers(int count)
{
    weft_traffic_t *more = weft_realloc(peers, (size_t)count * sizeof(*more));
    if (more == NULL)
        return;
    memset(more + peer_count, 0, (size_t)(count - peer_count) * sizeof(*more));
    peers = more;
    peer_count = count;
}

static weft_traffic_t *peer_traffic(int process)
{
    if (process >= peer_count) {
        weft_tool_lock();
        grow_peers(weft_processes.count > process ? weft_processes.count : process + 1);
        weft_tool_unlock();
    }
    return process < peer_count ? &peers[process] : NULL;
}

static void add_message(weft_amount_t *amount, size_t bytes)
{
    amount->messages++;
    amount->bytes += bytes;
}

void weft_traffic_note_sent(int process, size_t bytes)
{
    const weft_endpoint_t *endpoint = weft_process_reached(process);
    weft_traffic_t *peer = peer_traffic(process);
    if (endpoint != NULL)
        add_message(&endpoint->link->traffic->sent, bytes);
    if (peer != NULL)
        add_message(&peer->sent, bytes);
}

void weft_traffic_note_received(int process, size_t bytes)
{
    const weft_endpoint_t *endpoint = weft_process_reached(process);
    weft_traffic_t *way = endpoint == NULL ? weft_traffic_of_network : endpoint->link->traffic;
    weft_traffic_t *peer = peer_traffic(process);
    if (way != NULL)
        add_message(&way->received, bytes);
    if (peer != NULL)
        add_message(&peer->received, bytes);
}

weft_traffic_t weft_traffic_of(int process)
{
    return process < peer_count ? peers[process] : (weft_traffic_t){.name = NULL};
}

void weft_traffic_forget(int process)
{
    if (process < peer_count)
        peers[process] = (weft_traffic_t){.name = NULL};
}

void weft_traffic_close(void)
{
    weft_tool_lock();
    weft_free(peers);
    peers = NULL;
    peer_count = 0;
    weft_tool_unlock();
}
