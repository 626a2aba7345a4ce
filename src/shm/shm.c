/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/shm.h"

#include "runtime/progress.h"
#include "runtime/world.h"
#include "shm/places.h"
#include "shm/shm_private.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/least.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/simd.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    MESSAGES_AHEAD = 4,
    EAGER_PACKET = 16384, /* bytes of the longest message that is worth one packet; */
    ANSWER_MAX = 8191,    /* and of the longest that is if the peer waits for it */
    /* Long packets that find no cell before there is a large ring, which takes 2 ms to make ready:
     * a few always do. Where longer messages are read, more go through a ring, if a receiver is
     * late. */
    LONG_PACKETS = 16,
    LONG_PACKETS_READ = 128,
};

weft_shm_t wefti_shm;

_Static_assert(sizeof(wefti_shm.vcis[0].known_contacts) * 8 == 4096, "room for 4096 ranks a host");

/* ---- sending ---- */

void wefti_shm_make_contact(weft_shm_peer_t *peer)
{
    int word = peer->endpoint.vci * wefti_shm.contact_words + wefti_shm.local_rank / 64;
    peer->is_contacted = true;
    atomic_fetch_or(&peer->block->contacts[word], 1ULL << (wefti_shm.local_rank % 64));
}

static inline void call_peer(weft_shm_peer_t *peer, uint8_t kind)
{
    if (__builtin_expect(!peer->is_contacted, 0))
        wefti_shm_make_contact(peer);
    weft_slots_ring(&peer->endpoint.slots, kind);
}

/* Where there is no room, the peer has to take packets, even such as it did not wake for. */
static void *shm_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    void *room = weft_channel_reserve(&((weft_shm_peer_t *)endpoint)->out, bytes);
    if (__builtin_expect(room == NULL, 0))
        weft_doorbell_ring(endpoint->slots.doorbell);
    return room;
}

static void shm_store(weft_endpoint_t *endpoint, void *room, const void *from, size_t bytes)
{
    if (bytes < WEFT_STORE_LONG)
        weft_copy_write(room, from, bytes);
    else
        weft_channel_store(&((weft_shm_peer_t *)endpoint)->out, room, from, bytes);
}

static __attribute__((cold)) void take_large_ring(weft_shm_peer_t *peer)
{
    weft_channel_take_large(&peer->out);
    wefti_shm_restart_runs(peer);
}

static void shm_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    uint32_t marks = 0;
    if (header.bytes >= WEFT_STORE_LONG) {
        wefti_shm_set_blocking_max(peer, peer->endpoint.eager_max);
        marks = weft_channel_finish(&peer->out, header.bytes);
    }
    weft_channel_is_filled(&peer->out, header.bytes);
    peer->endpoint.slots.mark |= marks;
    weft_channel_publish(&peer->out, header);
    peer->endpoint.slots.mark &= ~marks;
    call_peer(peer, header.kind);
    if (weft_channel_lacks_large(&peer->out, header.bytes))
        take_large_ring(peer);
}

static __attribute__((noinline)) bool send_reserved(weft_shm_peer_t *peer, weft_header_t header,
                                                    const void *payload)
{
    void *to = shm_reserve(&peer->endpoint, header.bytes);
    if (__builtin_expect(to == NULL, 0))
        return false;
    weft_slots_count_kept(&peer->endpoint.slots);
    if (header.bytes <= WEFT_SLOT_PAYLOAD) /* perhaps none: then there is no payload to copy */
        weft_copy_small(to, payload, header.bytes);
    else
        shm_store(&peer->endpoint, to, payload, header.bytes);
    shm_commit(&peer->endpoint, header);
    return true;
}

/* A peer that was not contacted yet gets its first packet by send_reserved(). */
static bool shm_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    if (__builtin_expect(!weft_slots_have_room(&endpoint->slots, header.bytes), 0))
        return send_reserved((weft_shm_peer_t *)endpoint, header, payload);
    weft_slots_send_now(&endpoint->slots, header, payload);
    return true;
}

static void shm_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    atomic_store_explicit(&((weft_shm_peer_t *)endpoint)->in.channel.credit->is_throttled, is_on,
                          memory_order_release);
}

/* ---- receiving ---- */

/* Packets that are measured are left to a round of progress. */
static bool shm_peek(weft_endpoint_t *endpoint, weft_header_t *header, const void **payload)
{
    weft_channel_in_t *in = &((weft_shm_peer_t *)endpoint)->in;
    return weft_channel_peek(in, header, payload) && !in->is_measured;
}

static void shm_take(weft_endpoint_t *endpoint, size_t bytes)
{
    if (weft_channel_take(&((weft_shm_peer_t *)endpoint)->in, bytes))
        weft_slots_ring(&endpoint->slots, WEFT_UNANSWERED); /* there is room */
}

static weft_traffic_t shm_traffic = {.name = "shm"};

static const weft_link_ops_t shm_link = {
    .traffic = &shm_traffic,
    .send = shm_send,
    .reserve = shm_reserve,
    .store = shm_store,
    .commit = shm_commit,
    .flush = weft_no_flush,
    .peek = shm_peek,
    .take = shm_take,
    .throttle = shm_throttle,
};

/* ---- opening and closing ---- */

/* In another pid namespace the pid names another process: reading by it must not even be tried. */
static bool shares_pids(int local_rank)
{
    return weft_segment_block(&wefti_shm.segment, local_rank)->pid_namespace ==
           wefti_shm.own->pid_namespace;
}

/* What goes unasked fits into the ring, so that a sender can leave it there and go on. Where the
 * receiver may be away from its core, that holds for several messages. */
static size_t split_max(size_t ring)
{
    size_t most = weft_world.is_oversubscribed ? ring / MESSAGES_AHEAD : ring;
    return weft_config.EAGER_MAX < most ? weft_config.EAGER_MAX : most;
}

/* Known of the processors: of 1 MiB an Emerald Rapids makes 37 GB/s by reading and 34 by streams, a
 * bcast takes 30 us instead of 60. */
static bool is_reading_best(void)
{
    return weft_simd_is_intel_avx512();
}

/* In the VCI of its endpoint. */
static void open_channels(weft_shm_peer_t *peer, int local_rank)
{
    weft_endpoint_t *endpoint = &peer->endpoint;
    const weft_segment_t *segment = &wefti_shm.segment;
    int vci = endpoint->vci, own = wefti_shm.local_rank;
    weft_slots_open(&endpoint->slots, weft_segment_slots(segment, vci, own, local_rank),
                    own > local_rank, &peer->block->doorbell, vci);
    weft_channel_t out = weft_segment_channel(segment, vci, local_rank, own);
    if (vci == 0)
        weft_segment_cells(segment, own, local_rank, &peer->cells);
    weft_channel_out_init(&peer->out, &out, &endpoint->slots, &peer->cells,
                          &endpoint->is_throttled);
    weft_channel_t in = weft_segment_channel(segment, vci, own, local_rank);
    weft_channel_in_init(&peer->in, &in, &endpoint->slots, &peer->cells);
}

/* Where ranks take turns on cores, and messages of more than 16 KiB are read, rings have short ones
 * alone: a large ring never makes up for the pages to be touched. */
static size_t loses_from(const weft_endpoint_t *endpoint)
{
    bool are_read = wefti_shm.short_path == SHORT_CROWDED && wefti_shm.large_path == LARGE_READ &&
                    endpoint->reads_best && endpoint->can_read;
    return are_read ? SIZE_MAX : weft_channel_loses_from();
}

/* Where ranks take turns on cores, two copies by cells take less time than one by the kernel: with
 * eight ranks on two cores of a Zen 4 halos of 64 KiB take 86 to 115 us instead of 145 to 180. */
static void crowd_peer(weft_shm_peer_t *peer)
{
    weft_channel_prefer_cells(&peer->out);
    if (peer->endpoint.can_read && peer->cells.all > 0)
        peer->endpoint.split_max = weft_config.EAGER_MAX;
}

static void open_peer(int local_rank, int process, bool can_read)
{
    weft_shm_peer_t *peer = &wefti_shm.peers[local_rank];
    peer->block = weft_segment_block(&wefti_shm.segment, local_rank);
    peer->process = process;
    peer->is_leader = wefti_shm.local_rank < local_rank;
    peer->offers = weft_segment_copy_job(&wefti_shm.segment, local_rank, wefti_shm.local_rank);
    if (!weft_world.is_oversubscribed)
        peer->offered = weft_segment_copy_job(&wefti_shm.segment, wefti_shm.local_rank, local_rank);
    size_t packet_max = wefti_shm.segment.header->data_bytes / WEFT_CREDIT_SHARE;
    size_t eager_max = weft_least(weft_least(packet_max, EAGER_PACKET), weft_config.EAGER_MAX);
    peer->answer_max = weft_world.is_oversubscribed ? eager_max : weft_least(eager_max, ANSWER_MAX);
    peer->endpoint = (weft_endpoint_t){
        .link = &shm_link,
        .remote = &wefti_shm_remote,
        .packet_max = packet_max,
        .blocking_max = eager_max,
        .eager_max = eager_max,
        .split_max = split_max(wefti_shm.segment.header->data_bytes),
        .can_read = can_read,
        .reads_best = is_reading_best(),
        .is_on_host = true,
        .leaving = &peer->block->leaving,
    };
    open_channels(peer, local_rank);
    peer->ring_most = peer->endpoint.split_max;
    if (weft_world.is_oversubscribed)
        crowd_peer(peer);
    peer->loss.from = peer->out.loss.from = loses_from(&peer->endpoint);
    if (weft_store_begins_large())
        peer->out.wants_large = is_reading_best() ? LONG_PACKETS_READ : LONG_PACKETS;
    if (can_read && is_reading_best())
        weft_short_show_reading(peer->in.channel.credit->asks);
    wefti_shm_open_short(peer);
}

/* Messages that go unasked go by a VCI, longer ones are announced there. It has no large ring, and
 * no stores or baton that would have to be measured. */
static void open_peer_in_vci(int number, int local_rank)
{
    weft_shm_vci_t *vci = &wefti_shm.vcis[number];
    weft_shm_peer_t *first = &wefti_shm.peers[local_rank], *peer = &vci->peers[local_rank];
    size_t ring = wefti_shm.segment.header->vci_data_bytes, packet_max = ring / WEFT_CREDIT_SHARE;
    size_t eager_max = weft_least(weft_least(packet_max, ANSWER_MAX), weft_config.EAGER_MAX);
    peer->block = first->block;
    peer->process = first->process;
    peer->is_enlarged = true;
    peer->answer_max = peer->unasked_max = eager_max;
    peer->endpoint = (weft_endpoint_t){.link = &shm_link,
                                       .remote = &weft_no_remote,
                                       .packet_max = packet_max,
                                       .at_once_max = eager_max,
                                       .blocking_max = eager_max,
                                       .eager_max = eager_max,
                                       .split_max = split_max(ring),
                                       .is_on_host = true,
                                       .leaving = first->endpoint.leaving,
                                       .vci = number};
    open_channels(peer, local_rank);
    first->of_vcis[number] = &peer->endpoint;
    first->endpoint.of_vcis = first->of_vcis;
}

static int alloc_vci(int number, int ranks)
{
    weft_shm_vci_t *vci = &wefti_shm.vcis[number];
    vci->peers = weft_alloc_zeroed((size_t)ranks, sizeof(*vci->peers));
    vci->busy = weft_alloc_array((size_t)ranks, sizeof(*vci->busy));
    vci->contacts = wefti_shm.own->contacts + number * wefti_shm.contact_words;
    return vci->peers != NULL && vci->busy != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", ranks);
}

/* The VCIs behind the first. */
static int open_vcis(weft_world_t *world)
{
    world->vcis = weft_segment_vcis(&wefti_shm.segment);
    for (int vci = 1; vci < world->vcis; vci++) {
        int err = alloc_vci(vci, world->local_size);
        if (err != MPI_SUCCESS)
            return err;
        for (int i = 0; i < world->local_size; i++)
            open_peer_in_vci(vci, i);
    }
    for (int i = 0; i < world->local_size; i++)
        wefti_shm.peers[i].of_vcis[0] = &wefti_shm.peers[i].endpoint;
    return MPI_SUCCESS;
}

static int pid_of_peer(int local_rank)
{
    return shares_pids(local_rank) ? (int)weft_segment_block(&wefti_shm.segment, local_rank)->pid
                                   : 0;
}

static int shm_open_transport(weft_world_t *world, weft_sink_fn_t sink)
{
    if (world->local_size == 1)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if ((size_t)world->local_size > sizeof(wefti_shm.vcis[0].known_contacts) * 8)
        return weft_fail(MPI_ERR_OTHER, "%d ranks on one host; at most 4096 are supported",
                         world->local_size);
    if (strcmp(weft_config.CMA, "no") != 0)
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* else yama forbids reading */
    int err = weft_segment_open(world, &wefti_shm.segment);
    if (err != MPI_SUCCESS)
        return err;
    wefti_shm.sink = sink;
    wefti_shm.local_rank = world->local_rank;
    wefti_shm.own = weft_segment_block(&wefti_shm.segment, world->local_rank);
    wefti_shm.contact_words = (world->local_size + 63) / 64;
    err = alloc_vci(0, world->local_size);
    if (err != MPI_SUCCESS)
        return err;
    wefti_shm.peers = wefti_shm.vcis[0].peers;
    weft_mutual_open(&wefti_shm.mutual_choice);
    weft_short_open(&wefti_shm.short_choice);
    if (is_reading_best()) {
        weft_path_expect_reading(wefti_shm.choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES);
        weft_path_expect_reading(wefti_shm.mutual_choice.kinds, WEFT_PATH_SIZES);
        weft_short_expect_reading(&wefti_shm.short_choice);
    }
    weft_segment_agree_on_waiting(&wefti_shm.segment, world);
    world->noted = &wefti_shm.segment.header->noted;
    world->senders_fence = &wefti_shm.segment.header->senders_fence;
    world->host_link = &wefti_shm.segment.header->host_link;
    bool can_read = weft_segment_can_read(&wefti_shm.segment, wefti_shm.local_rank);
    if (can_read)
        wefti_shm_open_paths();
    for (int i = 0; i < world->local_size; i++) {
        int process = weft_process_find(WEFT_OWN_JOB, world->local_ranks[i]);
        open_peer(i, process, can_read && shares_pids(i));
        if (i != world->local_rank)
            weft_processes.at[process].endpoint = &wefti_shm.peers[i].endpoint;
    }
    world->pid_of = pid_of_peer;
    world->doorbell = &wefti_shm.own->doorbell;
    world->shown_leaving = &wefti_shm.own->leaving;
    wefti_places_open(&wefti_shm.segment, world->local_rank);
    err = open_vcis(world);
    return err == MPI_SUCCESS ? weft_progress_add(wefti_shm_progress) : err;
}

static void shm_describe(weft_rank_report_t *report)
{
    const weft_shm_peer_t *next =
        &wefti_shm.peers[(wefti_shm.local_rank + 1) % wefti_shm.segment.ranks];
    bool can_read = next->endpoint.can_read;
    snprintf(report->same_host, sizeof(report->same_host), "shm%s, %s", can_read ? "+CMA" : "",
             wefti_shm.segment.is_file ? "file" : "memfd");
    if (!can_read && strcmp(weft_config.CMA, "no") != 0)
        weft_rank_report_warn(report,
                              "ranks may not read each other's memory (process_vm_readv), so large "
                              "messages of a host are copied twice: kernel.yama.ptrace_scope=0, "
                              "--cap-add=SYS_PTRACE, or one pid namespace allows it");
    if (wefti_shm.segment.header->data_bytes < wefti_shm.segment.wanted_data_bytes)
        weft_rank_report_warn(report,
                              "/dev/shm has room for rings of %u KiB only, not %u: make it larger, "
                              "or leave out WEFT_SHM=file",
                              wefti_shm.segment.header->data_bytes / 1024,
                              wefti_shm.segment.wanted_data_bytes / 1024);
}

static void log_stores(void)
{
    int learnt[WEFT_STORES] = {0};
    for (int i = 0; i < wefti_shm.segment.ranks; i++)
        weft_channel_count_stores(&wefti_shm.peers[i].out, learnt);
    if (learnt[WEFT_STORE_CACHED] + learnt[WEFT_STORE_DIRTY] + learnt[WEFT_STORE_NONTEMPORAL] > 0)
        WEFT_LOG(WEFT_INFO, "shm",
                 "long packets are stored for so many ranks and sizes: cached %d, dirty %d, "
                 "nontemporal %d",
                 learnt[WEFT_STORE_CACHED], learnt[WEFT_STORE_DIRTY],
                 learnt[WEFT_STORE_NONTEMPORAL]);
}

static void shm_close(void)
{
    log_stores();
    weft_path_log(&wefti_shm.choice);
    weft_mutual_log(&wefti_shm.mutual_choice);
    weft_short_log(&wefti_shm.short_choice);
    weft_progress_remove(wefti_shm_progress);
    wefti_places_close();
    weft_world_leave(WEFT_GONE);
    weft_world.host_link = NULL;
    weft_world.pid_of = NULL;
    weft_world.noted = weft_world.shown_leaving = NULL;
    weft_segment_close(&wefti_shm.segment);
    for (int vci = 0; vci < WEFT_VCIS; vci++) {
        weft_free(wefti_shm.vcis[vci].peers);
        weft_free(wefti_shm.vcis[vci].busy);
    }
    memset(&wefti_shm, 0, sizeof(wefti_shm));
}

const weft_transport_ops_t weft_shm_transport = {
    .name = "shm",
    .open = shm_open_transport,
    .reach = weft_no_reach,
    .describe = shm_describe,
    .quiesce = weft_no_quiesce,
    .resume = weft_no_resume,
    .close = shm_close,
};

static const weft_pvar_t shm_pvars[] = {WEFT_TRAFFIC_PVARS("shm", SHM, shm_traffic)};

const weft_pvar_table_t weft_shm_pvars = {shm_pvars, sizeof(shm_pvars) / sizeof(shm_pvars[0])};
