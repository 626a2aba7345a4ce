/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way a message takes that is 8 KiB or more: through the ring, unasked or as a stream, or out
 * of the sender's memory.
 */
#include "shm/shm_private.h"

#include "runtime/world.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/copy.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* A ping-pong of 8 KiB takes as long either way on an Emerald Rapids; an exchange of 8 KiB 2.1 us
 * instead of 2.4, and of 16 KiB 2.5 instead of 3.4, where they are read. */
enum {
    UNASKED_MAX = 8191,
    UNASKED_CROWDED = 16384, /* where ranks take turns on cores */
    ANSWERED_WITHIN = 4,     /* messages, while ranks exchange them */
};

static bool is_awaiting(const weft_shm_peer_t *peer)
{
    return atomic_load_explicit(&peer->block->doorbell.is_waiting, memory_order_relaxed);
}

static weft_path_kind_t *kind_of_message(uint64_t address, const void *to, size_t bytes)
{
    return weft_path_kind(&wefti_shm.choice, to == NULL ? WEFT_APART : weft_copy_place(address, to),
                          bytes);
}

/* The sender sees how much time is lost for want of a large ring. */
void wefti_shm_count_lost(const weft_shm_peer_t *peer, int64_t ns)
{
    atomic_ullong *lost_ns = &peer->in.channel.credit->lost_ns;
    uint64_t before = atomic_load_explicit(lost_ns, memory_order_relaxed);
    atomic_store_explicit(lost_ns, before + (uint64_t)ns, memory_order_relaxed);
}

void wefti_shm_end_mutual_run(weft_shm_peer_t *peer)
{
    weft_mutual_end(&peer->mutual, peer->in.channel.credit->mutual, &wefti_shm.mutual_choice,
                    weft_clock_ns());
}

/* Where the sender reads messages of this rank meanwhile, its help would cost more calls. */
static bool shm_read(weft_endpoint_t *endpoint, uint64_t address, void *to, size_t bytes)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    if (!peer->is_contacted)
        wefti_shm_make_contact(peer); /* so that the peer polls this rank, and sees the offer */
    peer->unanswered = 0;
    bool is_helped = is_awaiting(peer), is_mutual = peer->is_mutual;
    weft_copy_job_t *job = peer->endpoint.asked > 0 ? NULL : peer->offered;
    peer->is_mutual = false; /* a short message is read without asking for its way */
    int64_t began_ns = weft_clock_ns();
    if (weft_shared_copy_read(job, peer->block->pid, address, to, bytes)) {
        weft_path_run_t run = {WEFT_PATH_READ, 1, bytes, weft_clock_ns() - began_ns};
        if (!endpoint->reads_best && !peer->is_enlarged &&
            (peer->in.is_slow || !peer->loss.is_fast))
            wefti_shm_count_lost(peer, weft_ring_loss_of_read(bytes, run.ns));
        if (is_mutual && weft_mutual_is_on(&peer->mutual) &&
            weft_mutual_count(&peer->mutual, bytes, began_ns + run.ns))
            wefti_shm_end_mutual_run(peer);
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
static bool is_mutual_path(weft_shm_peer_t *peer, size_t bytes, weft_path_t *path)
{
    if (!peer->is_leader)
        return weft_mutual_is_shown(peer->out.channel.credit->mutual, bytes, path);
    weft_shown_path_t *shown = peer->in.channel.credit->mutual;
    if (peer->endpoint.asked > 0)
        weft_mutual_note_overlap(&wefti_shm.mutual_choice, &peer->mutual, shown);
    if (!weft_mutual_is_shown(shown, bytes, path))
        return false;
    weft_mutual_begin(&wefti_shm.mutual_choice, &peer->mutual, *path, bytes, weft_clock_ns());
    return true;
}

/* Two copies by two cores at the same time may be faster than one by the kernel. But the sender has
 * to do one of them: if it does not wait in MPI, its memory is read. A message that comes while
 * others stream joins them: reading it would hold them up. */
static bool is_streamed(const weft_shm_peer_t *peer, weft_path_kind_t *kind)
{
    return is_awaiting(peer) &&
           (peer->streams.active > 0 || weft_path_choose(kind) == WEFT_PATH_STREAM);
}

static bool shm_prefers_stream(weft_endpoint_t *endpoint, uint64_t address, const void *to,
                               size_t bytes)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    weft_path_kind_t *kind = NULL;
    weft_path_t path;
    if (wefti_shm.large_path != LARGE_LEARNT)
        return wefti_shm.large_path == LARGE_STREAM;
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
        peer->streams.is_spoilt = false;
        peer->streams.units_sent = peer->out.units_sent;
    }
    return true;
}

/* Where this rank has sent as much meanwhile as half of what has come, both send. */
static void look_for_overlap(weft_shm_peer_t *peer)
{
    size_t sent = (size_t)(peer->out.units_sent - peer->streams.units_sent) * WEFT_DATA_UNIT;
    if (peer->is_leader && sent > peer->streams.run.bytes / 2)
        weft_mutual_note_overlap(&wefti_shm.mutual_choice, &peer->mutual,
                                 peer->in.channel.credit->mutual);
}

static void shm_stream_over(weft_endpoint_t *endpoint, size_t bytes)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    if (peer->streams.active == 0)
        return;
    peer->streams.run.messages++;
    peer->streams.run.bytes += bytes;
    if (weft_mutual_is_on(&peer->mutual) &&
        weft_mutual_count(&peer->mutual, bytes, weft_clock_ns()))
        wefti_shm_end_mutual_run(peer);
    if (--peer->streams.active > 0 || peer->streams.run.bytes == 0 || peer->streams.is_spoilt)
        return;
    look_for_overlap(peer);
    peer->streams.run.ns += weft_clock_ns();
    if (peer->streams.kind != NULL)
        weft_path_note(peer->streams.kind, &peer->streams.run);
}

/* Messages of one packet are announced where those of several are read. */
static void see_unasked(weft_shm_peer_t *peer, bool are_read)
{
    peer->unasked_max = are_read ? UNASKED_MAX : peer->endpoint.eager_max;
    wefti_shm_see_at_once(peer);
}

void wefti_shm_open_short(weft_shm_peer_t *peer)
{
    bool are_read = wefti_shm.short_path == SHORT_READ ||
                    (wefti_shm.short_path == SHORT_LEARNT && peer->endpoint.reads_best);
    see_unasked(peer, are_read && peer->endpoint.can_read);
}

/* Is a message of one packet among many that go one way, behind one that is announced? What the
 * ring takes comes faster there. Where messages of the peer come between them, as in an exchange,
 * all are announced: so each rank copies as many bytes as it receives, and not twice as many. */
static bool is_among_many(weft_shm_peer_t *peer)
{
    return ++peer->unanswered > ANSWERED_WITHIN && peer->endpoint.asked > 0;
}

/* A message of several packets: what the peer shows, or this rank where it leads. */
static bool is_asked(weft_shm_peer_t *peer, size_t bytes)
{
    bool is_own = peer->is_leader && weft_short_leads(&peer->short_messages, bytes);
    const weft_credit_t *credit = is_own ? peer->in.channel.credit : peer->out.channel.credit;
    return weft_short_is_asked(credit->asks, peer->short_tries, bytes);
}

/* Is there room for all of a message, so that its sender can leave it there and go on? */
static bool has_room(const weft_shm_peer_t *peer, size_t bytes)
{
    size_t packet_max = peer->endpoint.packet_max;
    return bytes <= peer->ring_most ||
           weft_channel_has_cells(&peer->out, (bytes + packet_max - 1) / packet_max + 1,
                                  packet_max);
}

/* Where ranks take turns on cores, what is announced needs one turn more, but its bytes are copied
 * once, by the receiver alone. Else what the peer shows. */
static bool is_best_read(weft_shm_peer_t *peer, size_t bytes)
{
    if (wefti_shm.short_path == SHORT_CROWDED)
        return bytes > UNASKED_CROWDED && peer->endpoint.can_read &&
               (peer->endpoint.reads_best || !has_room(peer, bytes));
    bool are_read = weft_short_is_read(peer->out.channel.credit->asks);
    see_unasked(peer, are_read);
    return bytes <= peer->endpoint.eager_max ? are_read : is_asked(peer, bytes);
}

static bool shm_prefers_asking(weft_endpoint_t *endpoint, size_t bytes, bool is_blocking)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    if (atomic_load_explicit(endpoint->leaving, memory_order_relaxed) != WEFT_STAYS ||
        (bytes <= endpoint->eager_max && is_among_many(peer)))
        return false;
    if (wefti_shm.short_path == SHORT_UNASKED || wefti_shm.short_path == SHORT_READ)
        return wefti_shm.short_path == SHORT_READ && endpoint->can_read;
    return is_best_read(peer, bytes) && (!is_blocking || weft_short_may_wait(&peer->short_sends));
}

static void shm_note_wait(weft_endpoint_t *endpoint, int64_t ns)
{
    weft_short_note_wait(&((weft_shm_peer_t *)endpoint)->short_sends, ns);
}

static void shm_note_short(weft_endpoint_t *endpoint, size_t bytes, int64_t sent_ns, bool was_asked)
{
    weft_shm_peer_t *peer = (weft_shm_peer_t *)endpoint;
    weft_short_message_t message = {was_asked ? WEFT_PATH_READ : WEFT_PATH_STREAM, bytes, sent_ns,
                                    weft_clock_ns()};
    if (wefti_shm.short_path == SHORT_LEARNT && endpoint->can_read && bytes > endpoint->eager_max)
        weft_short_note(&wefti_shm.short_choice, &peer->short_messages,
                        peer->in.channel.credit->asks, &message);
}

/* Where the sender and the receiver take turns on a core, one copy is better than two; but a short
 * message that is unasked needs one turn less. */
void wefti_shm_open_paths(void)
{
    wefti_shm.large_path = LARGE_READ;
    if (strcmp(weft_config.SHORT_MESSAGES, "read") == 0)
        wefti_shm.short_path = SHORT_READ;
    else if (strcmp(weft_config.SHORT_MESSAGES, "auto") == 0)
        wefti_shm.short_path = weft_world.is_oversubscribed ? SHORT_CROWDED : SHORT_LEARNT;
    if (strcmp(weft_config.RENDEZVOUS, "stream") == 0)
        wefti_shm.large_path = LARGE_STREAM;
    else if (strcmp(weft_config.RENDEZVOUS, "auto") == 0 && !weft_world.is_oversubscribed)
        wefti_shm.large_path = LARGE_LEARNT;
}

const weft_remote_ops_t wefti_shm_remote = {
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
