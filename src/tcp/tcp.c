/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tcp/tcp.h"

#include "tcp/tcp_private.h"

#include "runtime/fd_watch.h"
#include "runtime/nodes.h"
#include "runtime/progress.h"
#include "net/address_card.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "mpi.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 32,
    /* Rounds between two polls of all connections; the last busy one is polled in each round. To
     * poll one costs 0.2 us, all of them 0.3 us and 0.2 us for each that has something. */
    ROUNDS_PER_LOOK = 4,
    /* A round that polls sockets takes ten times as long as one that polls shared memory: once so
     * many of them have found nothing, only one in QUIET_SKIP is made. */
    QUIET_ROUNDS = 256,
    QUIET_SKIP = 32,
    /* The limit of eager messages is higher while the socket is idle. Data that an idle socket
     * takes at once only need memory at the receiver, while to ask first costs two messages: 1 MiB
     * took 168 us when asked for, and 155 us unasked. Data that a busy socket does not take have to
     * be copied, and it sends several answers to READs together. */
    IDLE_FACTOR = 16,
    BUSY_PART = 4,
};

weft_tcp_t wefti_tcp;

static weft_pool_t peers = WEFT_POOL(tcp_peer_t);

/* ---- peers ---- */

static weft_traffic_t tcp_traffic = {.name = "tcp"};

static const weft_link_ops_t tcp_link = {
    .traffic = &tcp_traffic,
    .send = wefti_tcp_send,
    .reserve = wefti_tcp_reserve,
    .store = weft_plain_store,
    .commit = wefti_tcp_commit,
    .flush = wefti_tcp_flush,
    .peek = weft_no_peek,
    .take = weft_no_take,
    .throttle = wefti_tcp_throttle,
};

static const weft_remote_ops_t tcp_remote = {
    .tells_owner = true,
    .read = weft_no_read,
    .prefers_stream = weft_no_preference,
    .stream_over = weft_no_stream_over,
    .prefers_asking = weft_no_asking,
    .note_wait = weft_no_note_wait,
    .note_short = weft_no_note_short,
    .register_memory = wefti_tcp_register,
    .deregister_memory = wefti_tcp_deregister,
    .get = wefti_tcp_get,
    .takes_device = weft_no_device,
};

static tcp_peer_t *create_tcp_peer(int process)
{
    tcp_peer_t *peer = weft_pool_take(&peers);
    if (peer == NULL)
        return NULL;
    size_t most =
        weft_config.FABRIC_EAGER_MAX < PACKET_MAX ? weft_config.FABRIC_EAGER_MAX : PACKET_MAX;
    size_t busy = most / BUSY_PART,
           idle = most < PACKET_MAX / IDLE_FACTOR ? most * IDLE_FACTOR : PACKET_MAX;
    *peer = (tcp_peer_t){
        .net.endpoint = {.link = &tcp_link,
                         .remote = &tcp_remote,
                         .holds_back = true,
                         .packet_max = PACKET_MAX,
                         .at_once_max = idle,
                         .blocking_max = idle,
                         .eager_max = idle,
                         .can_get = strcmp(weft_config.RENDEZVOUS, "stream") != 0},
        .source.fd = -1,
        .net.process = process,
        .eager_busy = busy,
        .eager_idle = idle,
    };
    if (weft_net_peer_enter(&wefti_tcp.net, &peer->net) == MPI_SUCCESS)
        return peer;
    weft_pool_give(&peers, peer);
    return NULL;
}

tcp_peer_t *wefti_tcp_peer(int process)
{
    tcp_peer_t *peer = (tcp_peer_t *)weft_net_peer_at(&wefti_tcp.net, process);
    return __builtin_expect(peer != NULL, 1) ? peer : create_tcp_peer(process);
}

static int tcp_reach(int process, weft_endpoint_t **out)
{
    tcp_peer_t *peer = wefti_tcp_peer(process);
    int err = weft_net_peer_check((const weft_net_peer_t *)peer);
    if (err != MPI_SUCCESS)
        return err;
    if (peer->state == TCP_APART)
        err = wefti_tcp_connect(peer);
    if (peer->state == TCP_LOST)
        peer->net.endpoint.is_lost = true;
    if (err == MPI_SUCCESS)
        *out = &peer->net.endpoint;
    return err;
}

void wefti_tcp_peer_open(tcp_peer_t *peer)
{
    peer->state = TCP_OPEN;
    wefti_tcp_pace_peer(peer);
    weft_processes.at[peer->net.process].endpoint = &peer->net.endpoint;
    wefti_tcp_note_dirty(peer);
}

static void part(tcp_peer_t *peer)
{
    if (peer->source.fd >= 0) {
        wefti_tcp_unwatch(&peer->source);
        close(peer->source.fd);
    }
    peer->source.fd = -1;
    peer->state = TCP_LOST;
    peer->gets = peer->unasked = NULL; /* their owners are told by weft_world.peer_lost */
    peer->wanted_bytes = 0;
    wefti_tcp_out_drop(peer);
    if (wefti_tcp.hot == peer)
        wefti_tcp.hot = NULL;
}

void wefti_tcp_peer_lost(tcp_peer_t *peer, const char *doing, int error)
{
    char why[384];
    if (peer->state == TCP_LOST)
        return;
    part(peer);
    snprintf(
        why, sizeof(why),
        "rank %d on %s has lost its connection to rank %d on %s while %s: %s; that rank or its "
        "host has probably died",
        weft_world.rank, weft_world.host, weft_process_rank(peer->net.process), peer->host, doing,
        strerror(error));
    weft_net_peer_lose(&wefti_tcp.net, &peer->net, why);
}

void wefti_tcp_peer_unreachable(tcp_peer_t *peer)
{
    part(peer);
    weft_net_peer_lose(&wefti_tcp.net, &peer->net, weft_fail_text());
}

/* weft_world.abandon */
static void tcp_abandon(int process)
{
    tcp_peer_t *peer = (tcp_peer_t *)weft_net_peer_at(&wefti_tcp.net, process);
    if (peer == NULL || peer->state == TCP_LOST)
        return;
    if (peer->attempt != NULL)
        wefti_tcp_end_attempt(peer);
    part(peer);
    peer->net.endpoint.is_lost = true;
}

static bool tcp_may_tell(const weft_net_peer_t *peer)
{
    (void)peer;
    return true;
}

/* ---- watching ---- */

static void control(tcp_source_t *source, int operation)
{
    struct epoll_event event = {.events = (source->is_deaf ? 0u : EPOLLIN) |
                                          (source->wants_room ? EPOLLOUT : 0u),
                                .data.ptr = source};
    if (epoll_ctl(wefti_tcp.epoll_fd, operation, source->fd, &event) != 0)
        WEFT_LOG(WEFT_ERROR, "tcp", "epoll_ctl: %s", strerror(errno));
}

void wefti_tcp_watch(tcp_source_t *source)
{
    source->wants_room = source->is_deaf = false;
    control(source, EPOLL_CTL_ADD);
}

void wefti_tcp_want_room(tcp_source_t *source, bool is_wanted)
{
    if (source->wants_room == is_wanted)
        return;
    source->wants_room = is_wanted;
    control(source, EPOLL_CTL_MOD);
}

void wefti_tcp_want_data(tcp_source_t *source, bool is_wanted)
{
    if (source->is_deaf != is_wanted)
        return;
    source->is_deaf = !is_wanted;
    control(source, EPOLL_CTL_MOD);
}

void wefti_tcp_unwatch(tcp_source_t *source)
{
    control(source, EPOLL_CTL_DEL);
}

/* ---- progress ---- */

/* While connections are being made one source may end another (if a pair has two connections), and
 * an event that epoll has reported for that one is stale: so only one event is taken then. */
static int look_at_all(void)
{
    struct epoll_event events[EVENTS];
    int most = wefti_tcp.attempts > 0 ? 1 : EVENTS, done = 0;
    int count = epoll_wait(wefti_tcp.epoll_fd, events, most, 0);
    for (int i = 0; i < count; i++) {
        tcp_source_t *source = events[i].data.ptr;
        uint32_t happened = events[i].events;
        done += !source->rests; /* before `ready`, which may free the source */
        source->ready(source, (happened & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0,
                      (happened & EPOLLOUT) != 0);
    }
    wefti_tcp_limit_pending();
    return done;
}

static bool may_skip(bool everything)
{
    static int skipped;
    if (everything || wefti_tcp.dirty != NULL || wefti_tcp.attempts > 0 ||
        wefti_tcp_pace_is_near() || wefti_tcp.quiet_rounds < QUIET_ROUNDS ||
        ++skipped >= QUIET_SKIP) {
        skipped = 0;
        return false;
    }
    return true;
}

/* Then the socket is better not read without need (see MUCH_BYTES): epoll looks at it without its
 * lock. */
static bool expects_data(const tcp_peer_t *peer)
{
    return peer->place != NULL || peer->gets != NULL;
}

static int advance_connection(bool everything)
{
    int done = 0;
    wefti_tcp.epoch++;
    if (__builtin_expect(wefti_tcp.dirty != NULL, 0))
        done += wefti_tcp_flush_dirty();
    bool is_guess = wefti_tcp.hot != NULL && !expects_data(wefti_tcp.hot);
    if (is_guess)
        done += wefti_tcp_receive(wefti_tcp.hot);
    if (!is_guess || everything || wefti_tcp.epoch % ROUNDS_PER_LOOK == 0)
        done += look_at_all();
    if (__builtin_expect(wefti_tcp.attempts > 0, 0))
        wefti_tcp_check_attempts();
    if (wefti_tcp.dirty != NULL) /* answers that came out of this round */
        done += wefti_tcp_flush_dirty();
    if (__builtin_expect(wefti_tcp.taken != NULL, 0))
        done += wefti_tcp_tell_taken();
    wefti_tcp.quiet_rounds = done > 0 ? 0 : wefti_tcp.quiet_rounds + 1;
    return done;
}

static int tcp_progress(bool everything)
{
    if (may_skip(everything))
        return 0;
    int done = advance_connection(everything);
    if (__builtin_expect(wefti_tcp.net.lost != NULL, 0))
        weft_net_tell_lost(&wefti_tcp.net, tcp_may_tell);
    return done;
}

static int tcp_wait_fd(void)
{
    if (wefti_tcp_look_for_silence() || wefti_tcp_pace_is_near())
        return WEFT_FD_READY;
    return wefti_tcp.attempts > 0 ? WEFT_FD_NONE : wefti_tcp.epoll_fd;
}

/* ---- opening and closing ---- */

/* Is the next host there at all? This connects to its lowest rank, so that a network which does not
 * work is found here, and not in the middle of the program. The kernel of the other host answers,
 * whatever the rank there does. */
static int check_next_host(void)
{
    int node = weft_node_of(weft_world.rank);
    int next = weft_node_first((node + 1) % weft_nodes_count());
    weft_endpoint_t *endpoint;
    if (weft_world.local_rank != 0 || weft_world.begins_alone)
        return MPI_SUCCESS;
    int err = tcp_reach(next, &endpoint);
    if (err != MPI_SUCCESS)
        return err;
    const tcp_peer_t *peer = wefti_tcp_peer(next);
    while (peer->state == TCP_CONNECTING) {
        if (advance_connection(true) == 0)
            sched_yield();
    }
    return peer->state == TCP_LOST ? weft_net_peer_check(&peer->net) : MPI_SUCCESS;
}

static int open_network(void)
{
    wefti_tcp.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (wefti_tcp.epoll_fd < 0)
        return weft_fail(MPI_ERR_OTHER, "epoll_create1: %s", strerror(errno));
    int err = wefti_tcp_pace_open();
    if (err == MPI_SUCCESS)
        err = wefti_tcp_listen();
    if (err == MPI_SUCCESS)
        err = wefti_tcp_publish();
    return err == MPI_SUCCESS ? check_next_host() : err;
}

static int tcp_open(weft_world_t *world, weft_sink_fn_t sink)
{
    bool is_served = world->fabric[0] != '\0'; /* by src/ofi */
    if (world->local_size == world->size || is_served)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    int err = weft_nodes_open();
    if (err != MPI_SUCCESS)
        return err;
    wefti_tcp = (weft_tcp_t){.sink = sink, .listener.fd = -1};
    err = weft_net_peers_open(&wefti_tcp.net);
    if (err != MPI_SUCCESS)
        return err;
    world->fabric = "weft-tcp";
    err = open_network();
    if (err != MPI_SUCCESS)
        return err;
    WEFT_LOG(WEFT_INFO, "tcp", "listening at %s", wefti_tcp_interface());
    weft_world.abandon = tcp_abandon;
    err = weft_fd_watch_add(tcp_wait_fd);
    weft_traffic_of_network = &tcp_traffic;
    return err == MPI_SUCCESS ? weft_progress_add(tcp_progress) : err;
}

static bool has_output(void)
{
    for (const tcp_peer_t *peer = wefti_tcp.dirty; peer != NULL; peer = peer->next_dirty) {
        if (wefti_tcp_has_output(peer))
            return true;
    }
    return false;
}

static void tcp_quiesce(bool is_last)
{
    (void)is_last;
    while (has_output()) {
        wefti_tcp_look_for_silence(); /* this wait does not sleep, so tcp_wait_fd is not called */
        if (weft_progress() == 0)
            sched_yield();
    }
    wefti_tcp.net.is_closing = true;
}

static void tcp_resume(void)
{
    wefti_tcp.net.is_closing = false;
}

static void tcp_describe(weft_rank_report_t *report)
{
    snprintf(report->other_hosts, sizeof(report->other_hosts), "weft-tcp");
    snprintf(report->interface, sizeof(report->interface), "%s", wefti_tcp_interface());
    wefti_tcp_describe_interfaces(report);
}

static void tcp_close(void)
{
    weft_progress_remove(tcp_progress);
    weft_world.abandon = NULL;
    wefti_tcp.net.is_closing = true;
    if (wefti_tcp.dropped > 0)
        WEFT_LOG(WEFT_WARN, "tcp", "%llu connections that were not of the job were dropped",
                 (unsigned long long)wefti_tcp.dropped);
    wefti_tcp_accept_close();
    wefti_tcp_connect_close();
    wefti_tcp_interfaces_close();
    for (int i = 0; i < wefti_tcp.net.count; i++) {
        tcp_peer_t *peer = (tcp_peer_t *)wefti_tcp.net.at[i];
        if (peer == NULL)
            continue;
        part(peer);
        wefti_tcp_out_forget(peer);
        wefti_tcp_in_forget(peer);
        wefti_tcp_pace_forget(peer);
    }
    wefti_tcp_pace_close();
    wefti_tcp_blocks_close();
    wefti_tcp_in_close();
    wefti_tcp_gets_close();
    weft_card_close();
    weft_net_peers_close(&wefti_tcp.net);
    weft_pool_close(&peers);
    close(wefti_tcp.epoll_fd);
    weft_world.fabric = "";
}

const weft_transport_ops_t weft_tcp_transport = {
    .name = "tcp",
    .open = tcp_open,
    .reach = tcp_reach,
    .describe = tcp_describe,
    .quiesce = tcp_quiesce,
    .resume = tcp_resume,
    .close = tcp_close,
};

static const weft_pvar_t tcp_pvars[] = {WEFT_TRAFFIC_PVARS("tcp", TCP, tcp_traffic)};

const weft_pvar_table_t weft_tcp_pvars = {tcp_pvars, sizeof(tcp_pvars) / sizeof(tcp_pvars[0])};
