/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calling process as a peer of itself: what is sent arrives before send returns. With it the
 * layers above need no special case for messages of a rank to itself.
 */
#include "runtime/transport.h"
#include "runtime/vci.h"
#include "runtime/world.h"
#include "mpi.h"

#include <string.h>

enum { PACKET_MAX = 64 * 1024 };

static weft_endpoint_t selves[WEFT_VCIS], *of_vcis[WEFT_VCIS];
static weft_sink_fn_t sink_of_self;
static _Alignas(64) char room[PACKET_MAX];
static bool room_is_used;

static bool self_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    (void)endpoint;
    sink_of_self(weft_processes.self, header, payload);
    return true;
}

/* The sink may send again while it reads from the room: such a packet has to wait. */
static void *self_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint;
    (void)bytes;
    return room_is_used ? NULL : room;
}

static void self_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    room_is_used = true;
    self_send(endpoint, header, room);
    room_is_used = false;
}

static bool self_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes)
{
    (void)endpoint;
    memmove(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

static void self_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    endpoint->is_throttled = is_on;
}

static weft_traffic_t self_traffic = {.name = "self"};

static const weft_link_ops_t self_link = {
    .traffic = &self_traffic,
    .send = self_send,
    .reserve = self_reserve,
    .store = weft_plain_store,
    .commit = self_commit,
    .flush = weft_no_flush,
    .peek = weft_no_peek,
    .take = weft_no_take,
    .throttle = self_throttle,
};

static const weft_remote_ops_t self_remote = {
    .read = self_read,
    .prefers_stream = weft_no_preference,
    .stream_over = weft_no_stream_over,
    .prefers_asking = weft_no_asking,
    .note_wait = weft_no_note_wait,
    .note_short = weft_no_note_short,
    .register_memory = weft_no_registration,
    .deregister_memory = weft_no_deregistration,
    .get = weft_no_get,
    .takes_device = weft_no_device,
};

static int self_open(weft_world_t *world, weft_sink_fn_t sink)
{
    for (int vci = 0; vci < WEFT_VCIS; vci++) {
        of_vcis[vci] = &selves[vci];
        selves[vci] = (weft_endpoint_t){.link = &self_link,
                                        .remote = &self_remote,
                                        .packet_max = PACKET_MAX,
                                        .at_once_max = PACKET_MAX,
                                        .blocking_max = PACKET_MAX,
                                        .eager_max = PACKET_MAX,
                                        .can_read = true,
                                        .is_on_host = true,
                                        .leaving = &world->leaving,
                                        .vci = vci,
                                        .of_vcis = of_vcis};
    }
    sink_of_self = sink;
    weft_processes.at[weft_processes.self].endpoint = &selves[0];
    return MPI_SUCCESS;
}

static void self_close(void)
{
}

const weft_transport_ops_t weft_self_transport = {
    .name = "self",
    .open = self_open,
    .reach = weft_no_reach,
    .describe = weft_no_description,
    .quiesce = weft_no_quiesce,
    .resume = weft_no_resume,
    .close = self_close,
};

static const weft_pvar_t self_pvars[] = {WEFT_TRAFFIC_PVARS("self", SELF, self_traffic)};

const weft_pvar_table_t weft_self_pvars = {self_pvars, sizeof(self_pvars) / sizeof(self_pvars[0])};
