/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/shm.h"

#include "runtime/progress.h"
#include "runtime/world.h"
#include "shm/channel.h"
#include "shm/path_choice.h"
#include "shm/places.h"
#include "shm/segment.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    MESSAGES_AHEAD = 4,
    EAGER_PACKET = 16384, /* bytes of the longest message that is worth one packet */
    BATCH = 32,           /* packets taken from one peer before the others get their turn */
};

/* A peer: the endpoint that sends to it and the channel that comes from it. */
typedef struct peer {
    weft_endpoint_t endpoint; /* first: endpoint pointers are peer pointers */
    weft_channel_out_t out;
    weft_doorbell_t *doorbell;
    bool is_contacted; /* it knows that we send */
    int process;
    weft_channel_in_t in;
    weft_rank_block_t *block;
    /* this rank's offers, as the receiver; NULL when oversubscribed: no core could help */
    weft_copy_job_t *offered;
    weft_copy_job_t *offers; /* the peer's offers, to this rank as the sender */
    weft_ring_loss_t loss;   /* while it sends through the small ring */
    bool is_enlarged;        /* it sends through a large ring by now, or has none */
    struct {
        int active;             /* on their way to this rank, which preferred them */
        weft_path_kind_t *kind; /* of the first one since there were none; NULL: of both ranks */
        weft_path_run_t run;    /* since then */
        uint32_t units_sent;    /* to the peer until then */
    } streams;
    bool is_leader; /* this rank chooses for both, where both send large messages; */
    bool is_mutual; /* the last one went the way that the leader shows */
    weft_short_pair_t short_messages;               /* that come from it */
    weft_short_wait_t short_sends;                  /* to it */
    weft_short_try_t short_tries[WEFT_SHORT_SIZES]; /* of them */
    weft_mutual_path_t mutual;                      /* the leader's */
} peer_t;

static struct {
    weft_segment_t segment;
    weft_sink_fn_t sink;
    peer_t *peers; /* [local size] */
    peer_t **busy; /* [local size] those that have sent us something, in order of contact */
    int busy_count;
    weft_rank_block_t *own;
    int local_rank, contact_words;
    enum { LARGE_READ, LARGE_STREAM, LARGE_LEARNT } large_path; /* of large messages */
    enum { SHORT_UNASKED, SHORT_READ, SHORT_LEARNT } short_path;
    weft_path_choice_t choice;
    weft_mutual_choice_t mutual_choice;
    weft_short_choice_t short_choice;
    uint64_t known_contacts[64]; /* senders in `busy`, a bit each */
} shm;

_Static_assert(sizeof(shm.known_contacts) * 8 == 4096, "room for 4096 ranks a host");

/* ---- sending ---- */

static void make_contact(peer_t *peer)
{
    peer->is_contacted = true;
    atomic_fetch_or(&peer->block->contacts[shm.local_rank / 64], 1ULL << (shm.local_rank % 64));
}

static inline void call_peer(peer_t *peer)
{
    if (__builtin_expect(!peer->is_contacted, 0))
        make_contact(peer);
    weft_doorbell_ring(peer->doorbell);
}

static void *shm_reserve(weft_endpoint_t *endpoint, size_t bytes)
{
    return weft_channel_reserve(&((peer_t *)endpoint)->out, bytes);
}

static void shm_store(weft_endpoint_t *endpoint, void *room, const void *from, size_t bytes)
{
    if (bytes < WEFT_STORE_LONG)
        weft_copy_write(room, from, bytes);
    else
        weft_channel_store(&((peer_t *)endpoint)->out, room, from, bytes);
}

static void shm_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    peer_t *peer = (peer_t *)endpoint;
    uint32_t marks = 0;
    if (header.bytes >= WEFT_STORE_LONG)
        marks = weft_channel_finish(&peer->out, header.bytes);
    weft_channel_is_filled(&peer->out, header.bytes);
    peer->out.mark |= marks;
    weft_channel_publish(&peer->out, header);
    peer->out.mark &= ~marks;
    call_peer(peer);
    if (weft_channel_lacks_large(&peer->out, header.bytes))
        weft_channel_take_large(&peer->out);
}

static __attribute__((noinline)) bool send_reserved(peer_t *peer, weft_header_t header,
                                                    const void *payload)
{
    void *to = weft_channel_reserve(&peer->out, header.bytes);
    if (__builtin_expect(to == NULL, 0))
        return false;
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
    peer_t *peer = (peer_t *)endpoint;
    if (__builtin_expect(!weft_channel_put(&peer->out, header, payload), 0))
        return send_reserved(peer, header, payload);
    weft_doorbell_ring(peer->doorbell);
    return true;
}

static bool is_awaiting(const peer_t *peer)
{
    return atomic_load_explicit(&peer->doorbell->is_waiting, memory_order_relaxed);
}

static weft_path_kind_t *kind_of_message(uint64_t address, const void *to, size_t bytes)
{
    return weft_path_kind(&shm.choice, to == NULL ? WEFT_APART : weft_copy_place(address, to),
                          bytes);
}

/* The sender sees how much time is lost for want of a large ring. */
static void count_lost(const peer_t *peer, int64_t ns)
{
    atomic_ullong *lost_ns = &peer->in.channel.credit->lost_ns;
    uint64_t before = atomic_load_explicit(lost_ns, memory_order_relaxed);
    atomic_store_explicit(lost_ns, before + (uint64_t)ns, memory_order_relaxed);
}

static void end_mutual_run(peer_t *peer)
{
    weft_mutual_end(&peer->mutual, peer->in.channel.credit->mutual, &shm.mutual_choice,
                    weft_clock_ns());
}

/* Where the sender reads messages of this rank meanwhile, its help would cost more calls. */
static bool shm_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes)
{
    peer_t *peer = (peer_t *)endpoint;
    if (!peer->is_contacted)
        make_contact(peer); /* so that the peer polls this rank, and sees the offer */
    bool is_helped = is_awaiting(peer), is_mutual = peer->is_mutual;
    weft_copy_job_t *job = peer->endpoint.asked > 0 ? NULL : peer->offered;
    peer->is_mutual = false; /* a short message is read without asking for its way */
    int64_t began_ns = weft_clock_ns();
    if (weft_shared_copy_read(job, peer->block->pid, address, to, bytes)) {
        weft_path_run_t run = {WEFT_PATH_READ, 1, bytes, weft_clock_ns() - began_ns};
        if (!weft_store_suits_caches() && !peer->is_enlarged &&
            (peer->in.is_slow || !peer->loss.is_fast))
            count_lost(peer, weft_ring_loss_of_read(bytes, run.ns));
        if (is_mutual && weft_mutual_is_on(&peer->mutual) &&
            weft_mutual_count(&peer->mutual, bytes))
            end_mutual_run(peer);
        if (!is_mutual && is_helped)
            weft_path_note(kind_of_message(address, to, bytes), &run);
        return true;
    }
    if (weft_config.RECOVERY && errno == ESRCH)
        return false; /* it has died, as the layer above will be told */
    WEFT_LOG(WEFT_WARN, "shm",
             "cannot read memory of rank %d (%s): from now on copying through shared memory",
             peer->process, strerror(errno));
    endpoint->can_read = false;
    weft_short_give_up(peer->in.channel.credit->asks);
    return false;
}

/* Does the way that the leader of the two shows hold for this message? */
static bool is_mutual_path(peer_t *peer, size_t bytes, weft_path_t *path)
{
    if (!peer->is_leader)
        return weft_mutual_is_shown(peer->out.channel.credit->mutual, bytes, path);
    weft_shown_path_t *shown = peer->in.channel.credit->mutual;
    if (peer->endpoint.asked > 0)
        weft_mutual_note_overlap(&shm.mutual_choice, &peer->mutual, shown);
    if (!weft_mutual_is_shown(shown, bytes, path))
        return false;
    weft_mutual_begin(&shm.mutual_choice, &peer->mutual, *path, bytes, weft_clock_ns());
    return true;
}

/* Two copies by two cores at the same time may be faster than one by the kernel. But the sender has
 * to do one of them: if it does not wait in MPI, its memory is read. A message that comes while
 * others stream joins them: reading it would hold them up. */
static bool is_streamed(const peer_t *peer, weft_path_kind_t *kind)
{
    return is_awaiting(peer) &&
           (peer->streams.active > 0 || weft_path_choose(kind) == WEFT_PATH_STREAM);
}

static bool shm_prefers_stream(weft_endpoint_t *endpoint, uint64_t address, const void *to,
                               size_t bytes)
{
    peer_t *peer = (peer_t *)endpoint;
    weft_path_kind_t *kind = NULL;
    weft_path_t path;
    if (shm.large_path != LARGE_LEARNT)
        return shm.large_path == LARGE_STREAM;
    peer->is_mutual = is_mutual_path(peer, bytes, &path);
    if (!peer->is_mutual) {
        kind = kind_of_message(address, to, bytes);
        path = is_streamed(peer, kind) ? WEFT_PATH_STREAM : WEFT_PATH_READ;
    }
    if (path == WEFT_PATH_READ)
        return false;
    if (peer->streams.active++ == 0) {
        peer->streams.kind = kind;
        peer->streams.run = (weft_path_run_t){WEFT_PATH_STREAM, 0, 0, -weft_clock_ns()};
        peer->streams.units_sent = peer->out.units_sent;
    }
    return true;
}

/* Where this rank has sent as much meanwhile as half of what has come, both send. */
static void look_for_overlap(peer_t *peer)
{
    size_t sent = (size_t)(peer->out.units_sent - peer->streams.units_sent) * WEFT_DATA_UNIT;
    if (peer->is_leader && sent > peer->streams.run.bytes / 2)
        weft_mutual_note_overlap(&shm.mutual_choice, &peer->mutual,
                                 peer->in.channel.credit->mutual);
}

static void shm_stream_over(weft_endpoint_t *endpoint, size_t bytes)
{
    peer_t *peer = (peer_t *)endpoint;
    if (peer->streams.active == 0)
        return;
    peer->streams.run.messages++;
    peer->streams.run.bytes += bytes;
    if (weft_mutual_is_on(&peer->mutual) && weft_mutual_count(&peer->mutual, bytes))
        end_mutual_run(peer);
    if (--peer->streams.active > 0 || peer->streams.run.bytes == 0)
        return;
    look_for_overlap(peer);
    peer->streams.run.ns += weft_clock_ns();
    if (peer->streams.kind != NULL)
        weft_path_note(peer->streams.kind, &peer->streams.run);
}

static bool shm_prefers_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking)
{
    peer_t *peer = (peer_t *)endpoint;
    if (atomic_load_explicit(endpoint->leaving, memory_order_relaxed) != WEFT_STAYS)
        return false;
    if (shm.short_path != SHORT_LEARNT)
        return shm.short_path == SHORT_READ && endpoint->can_read;
    bool is_own = peer->is_leader && weft_short_leads(&peer->short_messages, bytes);
    const weft_credit_t *credit = is_own ? peer->in.channel.credit : peer->out.channel.credit;
    return weft_short_is_asked(credit->asks, peer->short_tries, bytes) &&
           (!is_blocking || weft_short_may_wait(&peer->short_sends));
}

static void shm_note_wait(weft_endpoint_t *endpoint, int64_t ns)
{
    weft_short_note_wait(&((peer_t *)endpoint)->short_sends, ns);
}

static void shm_note_short(weft_endpoint_t *endpoint, size_t bytes, int64_t sent_ns, bool was_asked)
{
    peer_t *peer = (peer_t *)endpoint;
    weft_short_message_t message = {was_asked ? WEFT_PATH_READ : WEFT_PATH_STREAM, bytes, sent_ns,
                                    weft_clock_ns()};
    if (shm.short_path == SHORT_LEARNT && endpoint->can_read)
        weft_short_note(&shm.short_choice, &peer->short_messages, peer->in.channel.credit->asks,
                        &message);
}

static void shm_throttle(weft_endpoint_t *endpoint, bool is_on)
{
    atomic_store_explicit(&((peer_t *)endpoint)->in.channel.credit->is_throttled, is_on,
                          memory_order_release);
}

/* ---- receiving ---- */

static void add_contacts(int word, uint64_t fresh)
{
    shm.known_contacts[word] |= fresh;
    for (; fresh != 0; fresh &= fresh - 1)
        shm.busy[shm.busy_count++] = &shm.peers[word * 64 + __builtin_ctzll(fresh)];
}

static inline void look_for_contacts(void)
{
    for (int word = 0; word < shm.contact_words; word++) {
        uint64_t contacts = atomic_load_explicit(&shm.own->contacts[word], memory_order_acquire);
        uint64_t fresh = contacts & ~shm.known_contacts[word];
        if (__builtin_expect(fresh != 0, 0))
            add_contacts(word, fresh);
    }
}

static __attribute__((cold)) void note_large_ring(peer_t *peer)
{
    peer->is_enlarged = true;
    weft_path_forget(shm.choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES, WEFT_PATH_STREAM);
    weft_path_forget(shm.mutual_choice.kinds, WEFT_PATH_SIZES, WEFT_PATH_STREAM);
    weft_path_forget(shm.short_choice.kinds, WEFT_SHORT_KINDS, WEFT_PATH_STREAM);
}

/* A packet that is measured, or has claims. */
static __attribute__((noinline)) void sink_marked(peer_t *peer, weft_header_t header,
                                                  const void *payload, bool is_of_loss)
{
    bool is_claimed = peer->in.is_claimed, is_measured = peer->in.is_measured;
    int64_t began_ns = is_of_loss || is_measured ? weft_clock_ns() : 0;
    if (is_claimed)
        weft_channel_claim(&peer->in, payload, header.bytes);
    shm.sink(peer->process, header, payload);
    if (began_ns == 0)
        return;
    int64_t ns = weft_clock_ns() - began_ns;
    if (is_of_loss)
        count_lost(peer, weft_ring_loss_of_sample(&peer->loss, header.bytes, ns, !is_claimed));
    if (is_measured)
        weft_channel_show_cost(&peer->in, header.bytes, ns);
}

static inline int drain_channel(peer_t *peer)
{
    weft_header_t header;
    const void *payload;
    int taken = 0;
    while (taken < BATCH && weft_channel_peek(&peer->in, &header, &payload)) {
        bool is_of_loss = weft_ring_loss_is_sample(&peer->loss, header.bytes) && !peer->is_enlarged;
        if (__builtin_expect(is_of_loss || peer->in.is_measured || peer->in.is_claimed, 0))
            sink_marked(peer, header, payload, is_of_loss);
        else
            shm.sink(peer->process, header, payload);
        taken++;
        if (weft_channel_take(&peer->in, header.bytes))
            weft_doorbell_ring(peer->doorbell);
    }
    if (__builtin_expect(peer->in.channel.large == NULL && !peer->is_enlarged, 0))
        note_large_ring(peer);
    return taken;
}

/* The peer has been told of messages that it may read. Meanwhile this rank can help it, and see to
 * the large ring. */
static int await_reader(peer_t *peer)
{
    weft_channel_prepare(&peer->out);
    return weft_shared_copy_help(peer->offers, peer->block->pid);
}

static int shm_progress(bool everything)
{
    (void)everything;
    int taken = 0;
    look_for_contacts();
    for (int i = 0; i < shm.busy_count; i++) {
        peer_t *peer = shm.busy[i];
        taken += drain_channel(peer);
        if (__builtin_expect(peer->endpoint.asked > 0, 0))
            taken += await_reader(peer);
        if (__builtin_expect(weft_mutual_is_on(&peer->mutual), 0) && peer->endpoint.asked == 0 &&
            peer->streams.active == 0)
            end_mutual_run(peer);
    }
    return taken;
}

static weft_traffic_t shm_traffic = {.name = "shm"};

static const weft_link_ops_t shm_link = {
    .traffic = &shm_traffic,
    .send = shm_send,
    .reserve = shm_reserve,
    .store = shm_store,
    .commit = shm_commit,
    .flush = weft_no_flush,
    .throttle = shm_throttle,
};

static const weft_remote_ops_t shm_remote = {
    .read = shm_read,
    .prefers_stream = shm_prefers_stream,
    .stream_over = shm_stream_over,
    .prefers_asking = shm_prefers_asking,
    .note_wait = shm_note_wait,
    .note_short = shm_note_short,
    .register_memory = weft_no_registration,
    .deregister_memory = weft_no_deregistration,
    .get = weft_no_get,
    .takes_device = weft_no_device,
};

/* ---- opening and closing ---- */

/* In another pid namespace the pid names another process: reading by it must not even be tried. */
static bool shares_pids(int local_rank)
{
    return weft_segment_block(&shm.segment, local_rank)->pid_namespace == shm.own->pid_namespace;
}

/* What goes unasked fits into the ring, so that a sender can leave it there and go on. Where the
 * receiver may be away from its core, that holds for several messages. */
static size_t split_max(void)
{
    size_t ring = shm.segment.header->data_bytes;
    size_t most = weft_world.is_oversubscribed ? ring / MESSAGES_AHEAD : ring;
    return weft_config.EAGER_MAX < most ? weft_config.EAGER_MAX : most;
}

static void open_peer(int local_rank, int process, bool can_read)
{
    peer_t *peer = &shm.peers[local_rank];
    weft_channel_t out = weft_segment_channel(&shm.segment, local_rank, shm.local_rank);
    weft_channel_out_init(&peer->out, &out, &peer->endpoint.is_throttled);
    peer->out.wants_large = weft_world_has_one_pair();
    weft_channel_t in = weft_segment_channel(&shm.segment, shm.local_rank, local_rank);
    weft_channel_in_init(&peer->in, &in);
    peer->block = weft_segment_block(&shm.segment, local_rank);
    peer->doorbell = &peer->block->doorbell;
    peer->process = process;
    peer->is_leader = shm.local_rank < local_rank;
    peer->loss.from = weft_channel_loses_from();
    peer->offers = weft_segment_copy_job(&shm.segment, local_rank, shm.local_rank);
    if (!weft_world.is_oversubscribed)
        peer->offered = weft_segment_copy_job(&shm.segment, shm.local_rank, local_rank);
    size_t packet_max = shm.segment.header->data_bytes / WEFT_CREDIT_SHARE;
    size_t eager_max = packet_max < EAGER_PACKET ? packet_max : EAGER_PACKET;
    if (weft_config.EAGER_MAX < eager_max)
        eager_max = weft_config.EAGER_MAX;
    peer->endpoint = (weft_endpoint_t){
        .link = &shm_link,
        .remote = &shm_remote,
        .packet_max = packet_max,
        .eager_max = eager_max,
        .split_max = split_max(),
        .can_read = can_read,
        .is_on_host = true,
        .leaving = &peer->block->leaving,
    };
}

/* Where the sender and the receiver take turns on a core, one copy is better than two; but a short
 * message that is unasked needs one turn less. */
static void choose_paths(void)
{
    shm.large_path = LARGE_READ;
    if (strcmp(weft_config.SHORT_MESSAGES, "read") == 0)
        shm.short_path = SHORT_READ;
    else if (strcmp(weft_config.SHORT_MESSAGES, "auto") == 0 && !weft_world.is_oversubscribed)
        shm.short_path = SHORT_LEARNT;
    if (strcmp(weft_config.RENDEZVOUS, "stream") == 0)
        shm.large_path = LARGE_STREAM;
    else if (strcmp(weft_config.RENDEZVOUS, "auto") == 0 && !weft_world.is_oversubscribed)
        shm.large_path = LARGE_LEARNT;
}

static int pid_of_peer(int local_rank)
{
    return shares_pids(local_rank) ? (int)weft_segment_block(&shm.segment, local_rank)->pid : 0;
}

static int shm_open_transport(weft_world_t *world, weft_sink_fn_t sink)
{
    if (world->local_size == 1)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if ((size_t)world->local_size > sizeof(shm.known_contacts) * 8)
        return weft_fail(MPI_ERR_OTHER, "%d ranks on one host; at most 4096 are supported",
                         world->local_size);
    shm.peers = weft_alloc_zeroed((size_t)world->local_size, sizeof(*shm.peers));
    shm.busy = weft_alloc_array((size_t)world->local_size, sizeof(*shm.busy));
    if (shm.peers == NULL || shm.busy == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d peers", world->local_size);
    if (strcmp(weft_config.CMA, "no") != 0)
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* else yama forbids reading */
    int err = weft_segment_open(world, &shm.segment);
    if (err != MPI_SUCCESS)
        return err;
    shm.sink = sink;
    shm.local_rank = world->local_rank;
    shm.own = weft_segment_block(&shm.segment, world->local_rank);
    shm.contact_words = (world->local_size + 63) / 64;
    weft_mutual_open(&shm.mutual_choice);
    if (weft_store_suits_caches()) {
        weft_path_expect_reading(shm.choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES);
        weft_path_expect_reading(shm.mutual_choice.kinds, WEFT_PATH_SIZES);
    }
    weft_short_open(&shm.short_choice);
    weft_segment_agree_on_waiting(&shm.segment, world);
    world->noted = &shm.segment.header->noted;
    world->senders_fence = &shm.segment.header->senders_fence;
    world->host_link = &shm.segment.header->host_link;
    bool can_read = weft_segment_can_read(&shm.segment, shm.local_rank);
    if (can_read)
        choose_paths();
    for (int i = 0; i < world->local_size; i++) {
        int process = weft_process_find(WEFT_OWN_JOB, world->local_ranks[i]);
        open_peer(i, process, can_read && shares_pids(i));
        if (i != world->local_rank)
            weft_processes.at[process].endpoint = &shm.peers[i].endpoint;
    }
    world->pid_of = pid_of_peer;
    world->doorbell = &shm.own->doorbell;
    world->shown_leaving = &shm.own->leaving;
    wefti_places_open(&shm.segment, world->local_rank);
    return weft_progress_add(shm_progress);
}

static void shm_describe(weft_rank_report_t *report)
{
    const peer_t *next = &shm.peers[(shm.local_rank + 1) % shm.segment.ranks];
    bool can_read = next->endpoint.can_read;
    snprintf(report->same_host, sizeof(report->same_host), "shm%s, %s", can_read ? "+CMA" : "",
             shm.segment.is_file ? "file" : "memfd");
    if (!can_read && strcmp(weft_config.CMA, "no") != 0)
        weft_rank_report_warn(report,
                              "ranks may not read each other's memory (process_vm_readv), so large "
                              "messages of a host are copied twice: kernel.yama.ptrace_scope=0, "
                              "--cap-add=SYS_PTRACE, or one pid namespace allows it");
    if (shm.segment.header->data_bytes < shm.segment.wanted_data_bytes)
        weft_rank_report_warn(report,
                              "/dev/shm has room for rings of %u KiB only, not %u: make it larger, "
                              "or leave out WEFT_SHM=file",
                              shm.segment.header->data_bytes / 1024,
                              shm.segment.wanted_data_bytes / 1024);
}

static void log_stores(void)
{
    int learnt[WEFT_STORES] = {0};
    for (int i = 0; i < shm.segment.ranks; i++)
        weft_channel_count_stores(&shm.peers[i].out, learnt);
    if (learnt[WEFT_STORE_CACHED] + learnt[WEFT_STORE_CLAIMED] + learnt[WEFT_STORE_NONTEMPORAL] > 0)
        WEFT_LOG(WEFT_INFO, "shm",
                 "long packets are stored for so many ranks and sizes: cached %d, claimed %d, "
                 "nontemporal %d",
                 learnt[WEFT_STORE_CACHED], learnt[WEFT_STORE_CLAIMED],
                 learnt[WEFT_STORE_NONTEMPORAL]);
}

static void shm_close(void)
{
    log_stores();
    weft_path_log(&shm.choice);
    weft_mutual_log(&shm.mutual_choice);
    weft_short_log(&shm.short_choice);
    weft_progress_remove(shm_progress);
    wefti_places_close();
    weft_world_leave(WEFT_GONE);
    weft_world.host_link = NULL;
    weft_world.pid_of = NULL;
    weft_world.noted = weft_world.shown_leaving = NULL;
    weft_segment_close(&shm.segment);
    weft_free(shm.peers);
    weft_free(shm.busy);
    memset(&shm, 0, sizeof(shm));
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
