/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/ofi.h"

#include "ofi/ofi_private.h"

#include "runtime/fd_watch.h"
#include "runtime/nodes.h"
#include "runtime/progress.h"
#include "net/address_card.h"
#include "base/network_interface.h"
#include "ofi/fabric_library.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/least.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "mpi.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Looking at an interface takes some 30 us. */
enum { ROUNDS_PER_WATCH = 64, WATCH_NS = 1000 * 1000 * 1000 };

weft_ofi_t wefti_ofi;

static weft_pool_t peers = WEFT_POOL(weft_ofi_peer_t);

/* ---- peers ---- */

static weft_traffic_t ofi_traffic = {.name = "ofi"};

static const weft_link_ops_t ofi_link = {
    .traffic = &ofi_traffic,
    .send = wefti_ofi_send,
    .reserve = wefti_ofi_reserve,
    .store = weft_plain_store,
    .commit = wefti_ofi_commit,
    .flush = weft_no_flush,
    .peek = weft_no_peek,
    .take = weft_no_take,
    .throttle = wefti_ofi_throttle,
};

static const weft_remote_ops_t ofi_remote = {
    .read = weft_no_read,
    .prefers_stream = weft_no_preference,
    .stream_over = weft_no_stream_over,
    .prefers_asking = weft_no_asking,
    .note_wait = weft_no_note_wait,
    .note_short = weft_no_note_short,
    .register_memory = wefti_ofi_register,
    .deregister_memory = wefti_ofi_deregister,
    .get = wefti_ofi_get,
    .takes_device = wefti_ofi_takes_device,
};

static weft_ofi_peer_t *create_ofi_peer(int process)
{
    weft_ofi_peer_t *peer = weft_pool_take(&peers);
    if (peer == NULL)
        return NULL;
    const weft_rail_t *rail = &wefti_ofi.rails[0];
    size_t payload_max = rail->packet_max - sizeof(weft_wire_t);
    size_t eager_max = weft_least(weft_config.FABRIC_EAGER_MAX, payload_max);
    *peer = (weft_ofi_peer_t){
        .net.endpoint = {.link = &ofi_link,
                         .remote = &ofi_remote,
                         .packet_max = payload_max,
                         .at_once_max = eager_max,
                         .blocking_max = eager_max,
                         .eager_max = eager_max,
                         .can_get = rail->has_read},
        .net.process = process,
    };
    if (weft_net_peer_enter(&wefti_ofi.net, &peer->net) == MPI_SUCCESS)
        return peer;
    weft_pool_give(&peers, peer);
    return NULL;
}

weft_ofi_peer_t *wefti_ofi_peer(int process)
{
    weft_ofi_peer_t *peer = (weft_ofi_peer_t *)weft_net_peer_at(&wefti_ofi.net, process);
    return __builtin_expect(peer != NULL, 1) ? peer : create_ofi_peer(process);
}

static int insert_addresses(const weft_addresses_t *addresses, weft_ofi_peer_t *peer)
{
    if ((int)addresses->rails != wefti_ofi.rail_count)
        return weft_fail(
            MPI_ERR_OTHER,
            "rank %d on %s uses %u network interfaces, this rank on %s uses %d: one is "
            "down or missing on one of them, or WEFT_RAILS is not the same",
            weft_process_rank(peer->net.process),
            weft_card_host(weft_process_rank(peer->net.process)), addresses->rails, weft_world.host,
            wefti_ofi.rail_count);
    for (int i = 0; i < wefti_ofi.rail_count; i++) {
        int count = fi_av_insert(wefti_ofi.rails[i].av, addresses->rail[i].data, 1,
                                 &peer->addresses[i], 0, NULL);
        if (count != 1)
            return weft_fail(MPI_ERR_OTHER, "rank %d on %s cannot be reached: fi_av_insert: %s",
                             weft_process_rank(peer->net.process),
                             weft_card_host(weft_process_rank(peer->net.process)),
                             count < 0 ? weft_fabric_error(count) : "refused");
    }
    return MPI_SUCCESS;
}

/* A packet carries the first half of the key of the rank that it is for. */
static uint64_t ofi_packet_key(const uint8_t key[WEFT_SECRET_BYTES])
{
    uint64_t half;
    memcpy(&half, key, sizeof(half));
    return half;
}

int wefti_ofi_resolve(weft_ofi_peer_t *peer)
{
    weft_addresses_t addresses;
    uint8_t key[WEFT_SECRET_BYTES];
    if (peer->is_resolved)
        return MPI_SUCCESS;
    int err = weft_card_read(weft_process_rank(peer->net.process), &addresses, key);
    if (err == MPI_SUCCESS)
        err = insert_addresses(&addresses, peer);
    peer->key = err == MPI_SUCCESS ? ofi_packet_key(key) : 0;
    peer->is_resolved = err == MPI_SUCCESS;
    return err;
}

static int ofi_reach(int process, weft_endpoint_t **out)
{
    weft_ofi_peer_t *peer = wefti_ofi_peer(process);
    if (wefti_ofi.failure[0] != '\0')
        return weft_fail(MPI_ERR_OTHER, "%s", wefti_ofi.failure);
    int err = weft_net_peer_check((const weft_net_peer_t *)peer);
    if (err != MPI_SUCCESS)
        return err;
    if (!peer->is_lost)
        err = wefti_ofi_resolve(peer);
    if (err == MPI_SUCCESS)
        *out = &peer->net.endpoint;
    else
        wefti_ofi_peer_unreachable(peer);
    return err;
}

/* ---- losses ---- */

/* The peer may be alive and wait for a packet that was lost: so it is told of the loss, in case a
 * packet still reaches it. */
static void mark_lost(weft_ofi_peer_t *peer)
{
    peer->is_lost = true;
    peer->owes_loss = peer->is_resolved;
    wefti_ofi_note_unsettled(peer);
}

static void lose_peer(weft_ofi_peer_t *peer, const char *why)
{
    mark_lost(peer);
    weft_net_peer_lose(&wefti_ofi.net, &peer->net, why);
}

void wefti_ofi_peer_failed(weft_ofi_peer_t *peer, const char *failed, int error)
{
    char why[384];
    if (wefti_ofi.net.is_closing || peer->is_lost)
        return;
    snprintf(why, sizeof(why),
             "rank %d on %s cannot be reached by rank %d on %s any more: %s: %s (provider %s, "
             "interface %s)",
             weft_process_rank(peer->net.process),
             weft_card_host(weft_process_rank(peer->net.process)), weft_world.rank, weft_world.host,
             failed, weft_fabric_error(error), weft_world.fabric,
             wefti_ofi.rails[0].info->domain_attr->name);
    lose_peer(peer, why);
}

void wefti_ofi_peer_says(weft_ofi_peer_t *peer, const char *text, size_t bytes)
{
    char why[384];
    if (wefti_ofi.net.is_closing || peer->is_lost)
        return;
    snprintf(why, sizeof(why), "rank %d on %s has told rank %d on %s: %.*s",
             weft_process_rank(peer->net.process),
             weft_card_host(weft_process_rank(peer->net.process)), weft_world.rank, weft_world.host,
             (int)bytes, text);
    lose_peer(peer, why);
}

void wefti_ofi_peer_unreachable(weft_ofi_peer_t *peer)
{
    if (!wefti_ofi.net.is_closing && !peer->is_lost)
        lose_peer(peer, weft_fail_text());
}

/* The lost packet may have been for any of the peers that packets were injected to. */
static void ofi_injected_lost(int error)
{
    for (int i = 0; i < wefti_ofi.net.count; i++) {
        weft_ofi_peer_t *peer = (weft_ofi_peer_t *)wefti_ofi.net.at[i];
        if (peer != NULL && peer->has_injected)
            wefti_ofi_peer_failed(peer, "a packet injected to it, or to another rank, was lost",
                                  error);
    }
}

void wefti_ofi_failed(const char *doing, int error)
{
    if (wefti_ofi.net.is_closing || wefti_ofi.failure[0] != '\0')
        return;
    snprintf(wefti_ofi.failure, sizeof(wefti_ofi.failure),
             "rank %d on %s cannot be reached from other hosts any more: %s failed: %s (provider "
             "%s, interface %s)",
             weft_world.rank, weft_world.host, doing, weft_fabric_error(error), weft_world.fabric,
             wefti_ofi.rails[0].info->domain_attr->name);
    for (int i = 0; i < wefti_ofi.net.count; i++) {
        if (wefti_ofi.net.at[i] != NULL)
            mark_lost((weft_ofi_peer_t *)wefti_ofi.net.at[i]);
    }
}

static bool has_dead_rail(void)
{
    for (int i = 0; i < wefti_ofi.rail_count; i++) {
        if (wefti_ofi.rails[i].is_dead)
            return true;
    }
    return false;
}

/* A loss is not told while gets are out, since the provider may still write to the buffers of their
 * requests; except with a dead rail, which never tells that a get is over. */
static bool may_tell(int gets)
{
    return gets == 0 || has_dead_rail();
}

static bool ofi_may_tell(const weft_net_peer_t *peer)
{
    return may_tell(((const weft_ofi_peer_t *)peer)->gets);
}

static bool has_losses(void)
{
    bool has_failure = wefti_ofi.failure[0] != '\0' && !wefti_ofi.failure_is_told;
    return wefti_ofi.net.lost != NULL || has_failure;
}

static void tell_ofi_peer(void)
{
    weft_net_tell_lost(&wefti_ofi.net, ofi_may_tell);
    if (wefti_ofi.failure[0] == '\0' || wefti_ofi.failure_is_told ||
        !may_tell(!wefti_gets_is_idle()))
        return;
    wefti_ofi.failure_is_told = true;
    weft_world.network_lost(wefti_ofi.failure);
}

/* ---- progress ---- */

/* TCP tries for many minutes before it reports that a network is down. Meanwhile the other rails
 * carry parts of messages that will never be complete. */
static void watch_interfaces(void)
{
    static int64_t next_ns;
    static unsigned rounds;
    if (++rounds % ROUNDS_PER_WATCH != 0 || weft_clock_ns() < next_ns)
        return;
    next_ns = weft_clock_ns() + WATCH_NS;
    for (int i = 0; i < wefti_ofi.rail_count; i++)
        weft_rail_watch(&wefti_ofi.rails[i]);
}

static int ofi_progress(bool everything)
{
    int done = 0;
    (void)everything;
    if (wefti_ofi.rail_count > 1 && wefti_ofi.rails[0].is_sockets)
        watch_interfaces();
    for (int i = 0; i < wefti_ofi.rail_count; i++)
        done += weft_rail_progress(&wefti_ofi.rails[i]);
    if (__builtin_expect(wefti_ofi.unsettled != NULL, 0))
        done += wefti_outgoing_progress();
    done += wefti_gets_progress();
    done += wefti_device_reach_progress();
    if (__builtin_expect(has_losses(), 0))
        tell_ofi_peer();
    return done;
}

/* With several rails there is no single descriptor to sleep on. */
static int ofi_wait_fd(void)
{
    weft_rail_t *rail = &wefti_ofi.rails[0];
    struct fid *queue = &rail->cq->fid;
    if (wefti_ofi.unsettled != NULL || rail->unposted > 0 || wefti_gets_is_refused() ||
        has_losses() || wefti_device_reach_is_busy())
        return WEFT_FD_READY; /* nothing would wake us when the provider has room again */
    if (wefti_ofi.rail_count > 1 || rail->wait_fd < 0)
        return WEFT_FD_NONE;
    return fi_trywait(rail->fabric, &queue, 1) == 0 ? rail->wait_fd : WEFT_FD_READY;
}

/* ---- opening and closing ---- */

static void close_rails(void)
{
    while (wefti_ofi.rail_count > 0)
        weft_rail_close(&wefti_ofi.rails[--wefti_ofi.rail_count]);
}

static int open_rails(void)
{
    static const weft_rail_owner_t owner = {
        .sink = wefti_packet_in, .injected_lost = ofi_injected_lost, .failed = wefti_ofi_failed};
    for (int i = 0; i < wefti_ofi.provider.rail_count; i++) {
        int err = weft_rail_open(wefti_ofi.provider.rails[i], i, &owner, &wefti_ofi.rails[i]);
        if (err != MPI_SUCCESS) {
            close_rails();
            return err;
        }
        wefti_ofi.rail_count++;
    }
    return MPI_SUCCESS;
}

/* Open the first provider of the order that works; one that is there but broken is logged. */
static int open_best(void)
{
    char why[256] = "its list is empty"; /* why the last provider did not work */
    for (int i = 0;; i++) {
        int err = weft_provider_find(i, &wefti_ofi.provider);
        if (err == MPI_ERR_OTHER)
            return weft_fail(
                MPI_ERR_OTHER,
                "the job spans several hosts, and no provider of libfabric works "
                "here%s%s: %s",
                weft_config.FABRIC[0] == '\0' ? "" : " with WEFT_FABRIC=", weft_config.FABRIC, why);
        if (err == MPI_SUCCESS && open_rails() == MPI_SUCCESS)
            return MPI_SUCCESS;
        snprintf(why, sizeof(why), "%s", weft_fail_text());
        if (err != MPI_SUCCESS)
            continue;
        WEFT_LOG(WEFT_WARN, "ofi", "provider %s is skipped: %s", wefti_ofi.provider.name, why);
        weft_provider_release(&wefti_ofi.provider);
    }
}

static int publish_ofi_card(void)
{
    weft_addresses_t own = {.rails = (uint32_t)wefti_ofi.rail_count};
    for (int i = 0; i < wefti_ofi.rail_count; i++) {
        size_t bytes = WEFT_ADDRESS_MOST;
        int rc = fi_getname(&wefti_ofi.rails[i].ep->fid, own.rail[i].data, &bytes);
        if (rc != 0 || bytes > WEFT_ADDRESS_MOST)
            return weft_fail(MPI_ERR_OTHER, "fi_getname: %s",
                             rc != 0 ? weft_fabric_error(rc) : "the address is too long");
        own.rail[i].bytes = (uint32_t)bytes;
    }
    uint8_t key[WEFT_SECRET_BYTES];
    int err = weft_card_publish(&own, key);
    wefti_ofi.own_key = err == MPI_SUCCESS ? ofi_packet_key(key) : 0;
    return err;
}

static void log_provider(void)
{
    const struct fi_info *info = wefti_ofi.rails[0].info;
    uint32_t version = weft_fabric.version();
    WEFT_LOG(WEFT_INFO, "ofi",
             "libfabric %u.%u, provider %s, %d interfaces, first %s; inject %zu, packets of %zu "
             "bytes, %s, %s",
             FI_MAJOR(version), FI_MINOR(version), weft_world.fabric, wefti_ofi.rail_count,
             info->domain_attr->name, wefti_ofi.rails[0].inject_max, wefti_ofi.rails[0].packet_max,
             wefti_ofi.rails[0].has_read ? "large messages are read" : "large messages are sent",
             wefti_ofi.rails[0].has_multi_recv ? "multi-receive" : "single receives");
}

/* Without libfabric, or without a provider that works, the job uses src/tcp; but a provider that
 * the user has asked for is not replaced by another transport. */
static int give_way(int err)
{
    if (weft_provider_is_demanded())
        return err;
    WEFT_LOG(WEFT_WARN, "ofi", "this host has a network device, but only TCP is used: %s",
             weft_fail_text());
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int ofi_open(weft_world_t *world, weft_sink_fn_t sink)
{
    /* The hosts of a simulation are reached over loopback, by Weft's own transport. */
    if (world->local_size == world->size || world->machine[0] != '\0' || !weft_provider_is_wanted())
        return MPI_ERR_UNSUPPORTED_OPERATION;
    int err = weft_fabric_library_open();
    if (err != MPI_SUCCESS)
        return give_way(err);
    err = weft_nodes_open();
    if (err != MPI_SUCCESS)
        return err;
    wefti_ofi.sink = sink;
    err = weft_net_peers_open(&wefti_ofi.net);
    if (err != MPI_SUCCESS)
        return err;
    err = open_best();
    if (err != MPI_SUCCESS) {
        weft_net_peers_close(&wefti_ofi.net);
        return give_way(err);
    }
    world->fabric = wefti_ofi.rails[0].info->fabric_attr->prov_name;
    log_provider();
    err = publish_ofi_card();
    if (err == MPI_SUCCESS)
        err = weft_fd_watch_add(ofi_wait_fd);
    weft_traffic_of_network = &ofi_traffic;
    return err == MPI_SUCCESS ? weft_progress_add(ofi_progress) : err;
}

static void ofi_quiesce(bool is_last)
{
    wefti_ofi.tells_no_room = is_last;
    while ((!wefti_outgoing_is_out() || wefti_device_reach_is_busy()) && !has_dead_rail()) {
        if (weft_progress() == 0)
            sched_yield();
    }
    wefti_ofi.net.is_closing = true;
}

static void ofi_resume(void)
{
    wefti_ofi.tells_no_room = false;
    wefti_ofi.net.is_closing = false;
}

static void ofi_describe(weft_rank_report_t *report)
{
    uint32_t version = weft_fabric.version();
    const char *name = wefti_ofi.rails[0].info->domain_attr->name;
    snprintf(report->other_hosts, sizeof(report->other_hosts), "libfabric %u.%u %s, %d rail%s, %s",
             FI_MAJOR(version), FI_MINOR(version), weft_world.fabric, wefti_ofi.rail_count,
             wefti_ofi.rail_count == 1 ? "" : "s",
             wefti_ofi.rails[0].has_read ? "reads" : "streams");
    snprintf(report->interface, sizeof(report->interface), "%s", name);
    report->speed_mbit = weft_interface_look(name).speed_mbit;
    if (wefti_ofi.rails[0].is_sockets)
        weft_rank_report_warn(report,
                              "libfabric over the kernel's sockets: leave out WEFT_FABRIC and "
                              "FI_PROVIDER, Weft's own TCP is faster");
}

static void ofi_close(void)
{
    weft_progress_remove(ofi_progress);
    wefti_ofi.net.is_closing = true;
    if (wefti_ofi.dropped > 0)
        WEFT_LOG(WEFT_WARN, "ofi", "%llu packets were dropped",
                 (unsigned long long)wefti_ofi.dropped);
    wefti_device_reach_close();
    close_rails();
    for (int i = 0; i < wefti_ofi.net.count; i++) {
        if (wefti_ofi.net.at[i] != NULL)
            wefti_incoming_forget((weft_ofi_peer_t *)wefti_ofi.net.at[i]);
    }
    wefti_gets_close();
    weft_card_close();
    weft_net_peers_close(&wefti_ofi.net);
    weft_pool_close(&peers);
    weft_provider_release(&wefti_ofi.provider);
    weft_world.fabric = "";
    memset(&wefti_ofi, 0, sizeof(wefti_ofi));
}

const weft_transport_ops_t weft_ofi_transport = {
    .name = "ofi",
    .is_unsure = true, /* nothing tells whether an injected packet has arrived */
    .open = ofi_open,
    .reach = ofi_reach,
    .describe = ofi_describe,
    .quiesce = ofi_quiesce,
    .resume = ofi_resume,
    .close = ofi_close,
};

static const weft_pvar_t ofi_pvars[] = {WEFT_TRAFFIC_PVARS("ofi", OFI, ofi_traffic)};

const weft_pvar_table_t weft_ofi_pvars = {ofi_pvars, sizeof(ofi_pvars) / sizeof(ofi_pvars[0])};
