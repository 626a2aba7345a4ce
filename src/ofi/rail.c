/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/rail.h"

#include "ofi/fabric_library.h"
#include "net/net_packet.h"
#include "base/network_interface.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <string.h>

enum {
    ENTRIES = 16, /* completions taken at once */
    CQ_MOST = 16384,
    MULTI_BUFFERS = 4,
    SINGLE_BUFFERS = 32,
    PACKETS_A_BUFFER = 8, /* of a multi-receive buffer, at least */
    SMALL_SLOTS = 128,
    LARGE_SLOTS = 24,
    ALIGNMENT = 4096,
    PACKET_LEAST = 2048, /* src/pt2pt sends packets of up to this size whatever packet_max is */
    SOCKET_READ = 256 * 1024,
    SOCKET_READS = 2,
    DEVICE_READ = 1 << 20,
    DEVICE_READS = 16,
};

static int rail_failed(const char *call, long rc)
{
    return weft_fail(MPI_ERR_OTHER, "%s: %s", call, weft_fabric_error(rc));
}

/* ---- memory ---- */

static int register_device(weft_rail_t *rail, const weft_rail_region_t *region,
                           struct fi_mr_attr *attributes, struct fid_mr **out)
{
    struct iovec piece = {(void *)region->data, region->bytes};
    attributes->mr_iov = &piece;
    attributes->iov_count = 1;
    attributes->iface = FI_HMEM_CUDA; /* src/cuda is the only back end */
    attributes->device.cuda = weft_device->number(region->memory->device);
    return fi_mr_regattr(rail->domain, attributes, 0, out);
}

uint64_t weft_rail_address(const weft_rail_t *rail, const void *data)
{
    bool by_address = (rail->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return by_address ? (uint64_t)(uintptr_t)data : 0;
}

int weft_rail_register(weft_rail_t *rail, const weft_rail_region_t *region, uint64_t access,
                       struct fid_mr **out)
{
    bool is_ours = (rail->info->domain_attr->mr_mode & FI_MR_PROV_KEY) == 0;
    uint64_t key = is_ours ? rail->next_key++ : 0;
    struct fi_mr_attr attributes = {.access = access, .requested_key = key};
    int rc = region->memory != NULL ? register_device(rail, region, &attributes, out)
                                    : fi_mr_reg(rail->domain, region->data, region->bytes, access,
                                                0, key, 0, out, NULL);
    if (rc != 0 || (rail->info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0)
        return rc;
    rc = fi_mr_bind(*out, &rail->ep->fid, 0);
    if (rc == 0)
        rc = fi_mr_enable(*out);
    if (rc != 0)
        fi_close(&(*out)->fid);
    return rc;
}

static size_t round_up_slot(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t buffer_bytes(const weft_rail_t *rail)
{
    return round_up_slot(rail->has_multi_recv ? rail->packet_max * PACKETS_A_BUFFER
                                              : rail->packet_max);
}

static int allocate_slots(weft_rail_t *rail)
{
    rail->buffer_count = rail->has_multi_recv ? MULTI_BUFFERS : SINGLE_BUFFERS;
    if ((size_t)rail->buffer_count > rail->info->rx_attr->size)
        rail->buffer_count = (int)rail->info->rx_attr->size;
    rail->memory_bytes = buffer_bytes(rail) * (size_t)rail->buffer_count +
                         round_up_slot(rail->packet_max) * LARGE_SLOTS +
                         WEFT_SLOT_SMALL * SMALL_SLOTS;
    rail->memory = weft_alloc_aligned(rail->memory_bytes, ALIGNMENT);
    rail->buffers = weft_alloc_zeroed((size_t)rail->buffer_count, sizeof(*rail->buffers));
    rail->slots = weft_alloc_zeroed(SMALL_SLOTS + LARGE_SLOTS, sizeof(*rail->slots));
    if (rail->memory == NULL || rail->buffers == NULL || rail->slots == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the %zu bytes of a network interface",
                         rail->memory_bytes);
    if (!rail->needs_local)
        return MPI_SUCCESS;
    weft_rail_region_t region = {.data = rail->memory, .bytes = rail->memory_bytes};
    int rc = weft_rail_register(rail, &region, FI_SEND | FI_RECV, &rail->memory_mr);
    return rc == 0 ? MPI_SUCCESS : rail_failed("fi_mr_reg", rc);
}

static void lay_out(weft_rail_t *rail)
{
    void *descriptor = rail->memory_mr == NULL ? NULL : fi_mr_desc(rail->memory_mr);
    char *at = rail->memory;
    for (int i = 0; i < rail->buffer_count; i++, at += buffer_bytes(rail))
        rail->buffers[i] =
            (weft_receive_buffer_t){.rail = rail, .memory = at, .bytes = buffer_bytes(rail)};
    for (int i = 0; i < SMALL_SLOTS + LARGE_SLOTS; i++) {
        weft_rail_slot_t *slot = &rail->slots[i];
        *slot = (weft_rail_slot_t){
            .rail = rail, .size_class = i >= SMALL_SLOTS, .memory = at, .descriptor = descriptor};
        at += i < SMALL_SLOTS ? WEFT_SLOT_SMALL : round_up_slot(rail->packet_max);
        weft_rail_give_slot(slot);
    }
}

weft_rail_slot_t *weft_rail_take_slot(weft_rail_t *rail, size_t bytes)
{
    int size_class = bytes > WEFT_SLOT_SMALL;
    weft_rail_slot_t *slot = rail->free_slots[size_class];
    if (slot != NULL)
        rail->free_slots[size_class] = slot->next;
    return slot;
}

void weft_rail_give_slot(weft_rail_slot_t *slot)
{
    weft_rail_slot_t **list = &slot->rail->free_slots[slot->size_class];
    slot->next = *list;
    *list = slot;
}

/* ---- receiving ---- */

static void rail_packet_is_here(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error);

/* Returns 0, or a negative error number of libfabric; -FI_EAGAIN: post_again() will try again. */
static long post_receive(weft_receive_buffer_t *buffer)
{
    weft_rail_t *rail = buffer->rail;
    struct iovec piece = {buffer->memory, buffer->bytes};
    void *descriptor = rail->memory_mr == NULL ? NULL : fi_mr_desc(rail->memory_mr);
    struct fi_msg message = {.msg_iov = &piece,
                             .desc = &descriptor,
                             .iov_count = 1,
                             .addr = FI_ADDR_UNSPEC,
                             .context = &buffer->op.context};
    buffer->op.done = rail_packet_is_here;
    uint64_t flags = rail->has_multi_recv ? FI_MULTI_RECV : 0;
    long rc = fi_recvmsg(rail->ep, &message, flags);
    buffer->is_posted = rc == 0;
    rail->unposted += !buffer->is_posted;
    return rc;
}

static long post_again(weft_rail_t *rail)
{
    long rc = 0;
    rail->unposted = 0;
    for (int i = 0; i < rail->buffer_count && (rc == 0 || rc == -FI_EAGAIN); i++) {
        if (!rail->buffers[i].is_posted)
            rc = post_receive(&rail->buffers[i]);
    }
    return rc;
}

static void expect_posted(weft_rail_t *rail, long rc)
{
    if (rc != 0 && rc != -FI_EAGAIN)
        rail->owner->failed("fi_recvmsg", (int)-rc);
}

static void rail_packet_is_here(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error)
{
    weft_receive_buffer_t *buffer = (weft_receive_buffer_t *)op;
    weft_rail_t *rail = buffer->rail;
    if (error == FI_ECANCELED)
        return;
    if (error == FI_ETRUNC)
        WEFT_LOG(WEFT_WARN, "ofi",
                 "dropped a packet of more than %zu bytes: WEFT_FABRIC_EAGER_MAX "
                 "must be the same on all hosts",
                 rail->packet_max);
    else if (error != 0)
        rail->owner->failed("receiving", error);
    else if ((entry->flags & FI_RECV) != 0)
        rail->owner->sink(rail->has_multi_recv ? entry->buf : buffer->memory, entry->len);
    if (!rail->has_multi_recv || (entry->flags & FI_MULTI_RECV) != 0)
        expect_posted(rail, post_receive(buffer));
}

/* ---- completions ---- */

static int take_error(weft_rail_t *rail)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(rail->cq, &entry, 0) < 1)
        return 0;
    WEFT_LOG(WEFT_DEBUG, "ofi", "an operation failed: %s", weft_fabric_error(entry.err));
    weft_ofi_op_t *op = entry.op_context;
    struct fi_cq_data_entry flags_alone = {.op_context = op, .flags = entry.flags};
    if (op != NULL)
        op->done(op, &flags_alone, entry.err);
    else
        rail->owner->injected_lost(entry.err); /* nothing else has no context */
    return 1;
}

/* After this the rail is not polled, so that the provider does not write to buffers that were given
 * back. */
static void die(weft_rail_t *rail, const char *doing, int error)
{
    if (rail->is_dead)
        return;
    rail->is_dead = true;
    rail->owner->failed(doing, error);
}

void weft_rail_watch(weft_rail_t *rail)
{
    char doing[96];
    if (rail->is_dead || !weft_interface_look(rail->info->domain_attr->name).is_down)
        return;
    snprintf(doing, sizeof(doing), "its interface %s", rail->info->domain_attr->name);
    die(rail, doing, FI_ENETDOWN);
}

int weft_rail_progress(weft_rail_t *rail)
{
    struct fi_cq_data_entry entries[ENTRIES];
    if (__builtin_expect(rail->is_dead, 0))
        return 0;
    ssize_t count = fi_cq_read(rail->cq, entries, ENTRIES);
    if (count == -FI_EAVAIL)
        return take_error(rail);
    if (__builtin_expect(count < 0 && count != -FI_EAGAIN && count != -FI_EINTR, 0))
        die(rail, "fi_cq_read", (int)-count);
    for (ssize_t i = 0; i < count; i++) {
        weft_ofi_op_t *op = entries[i].op_context;
        if (__builtin_expect(op != NULL, 1))
            op->done(op, &entries[i], 0);
    }
    if (__builtin_expect(rail->unposted > 0, 0))
        expect_posted(rail, post_again(rail));
    return count > 0 ? (int)count : 0;
}

/* ---- opening and closing ---- */

/* ofi_rxm receives packets above 16 KiB by reading them. Meanwhile other packets fill the
 * multi-receive buffer, and it reports that the buffer is free before the last one is read (seen
 * with tcp;ofi_rxm of libfabric 1.17). */
static bool is_early_release(const struct fi_info *info)
{
    return strstr(info->fabric_attr->prov_name, "ofi_rxm") != NULL;
}

static void measure_rail(weft_rail_t *rail)
{
    const struct fi_info *info = rail->info;
    rail->packet_max = weft_config.FABRIC_EAGER_MAX + sizeof(weft_wire_t);
    if (rail->packet_max < 2 * WEFT_SLOT_SMALL)
        rail->packet_max = 2 * WEFT_SLOT_SMALL;
    if (rail->packet_max > info->ep_attr->max_msg_size)
        rail->packet_max = info->ep_attr->max_msg_size;
    rail->inject_max = info->tx_attr->inject_size;
    if (rail->inject_max > WEFT_INJECT_MOST)
        rail->inject_max = WEFT_INJECT_MOST;
    rail->is_sockets = info->addr_format == FI_SOCKADDR_IN || info->addr_format == FI_SOCKADDR_IN6;
    rail->read_max = rail->is_sockets ? SOCKET_READ : DEVICE_READ;
    if (rail->read_max > info->ep_attr->max_msg_size)
        rail->read_max = info->ep_attr->max_msg_size;
    rail->reads_max = rail->is_sockets ? SOCKET_READS : DEVICE_READS;
    rail->has_read = (info->caps & FI_RMA) != 0 && strcmp(weft_config.RENDEZVOUS, "stream") != 0;
    rail->has_hmem = rail->has_read && (info->caps & FI_HMEM) != 0;
    rail->has_multi_recv = (info->caps & FI_MULTI_RECV) != 0 && !is_early_release(info);
    rail->needs_local = (info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    rail->next_key = 1;
}

static int open_queue(weft_rail_t *rail)
{
    size_t size = rail->info->tx_attr->size + rail->info->rx_attr->size;
    struct fi_cq_attr attributes = {.format = FI_CQ_FORMAT_DATA,
                                    .size = size < CQ_MOST ? size : CQ_MOST,
                                    .wait_obj = FI_WAIT_FD};
    rail->wait_fd = -1;
    int rc = fi_cq_open(rail->domain, &attributes, &rail->cq, NULL);
    if (rc == 0)
        return fi_control(&rail->cq->fid, FI_GETWAIT, &rail->wait_fd) == 0
                   ? 0
                   : (rail->wait_fd = -1, 0);
    attributes.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(rail->domain, &attributes, &rail->cq, NULL);
}

static int open_endpoint(weft_rail_t *rail)
{
    int rc = fi_endpoint(rail->domain, (struct fi_info *)rail->info, &rail->ep, NULL);
    if (rc == 0)
        rc = fi_ep_bind(rail->ep, &rail->av->fid, 0);
    if (rc == 0)
        rc = fi_ep_bind(rail->ep, &rail->cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0 && rail->has_multi_recv)
        rc = fi_setopt(&rail->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &rail->packet_max,
                       sizeof(rail->packet_max));
    return rc == 0 ? fi_enable(rail->ep) : rc;
}

static int open_objects(weft_rail_t *rail)
{
    const struct fi_info *info = rail->info;
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    int rc = weft_fabric.fabric(info->fabric_attr, &rail->fabric, NULL);
    if (rc != 0)
        return rail_failed("fi_fabric", rc);
    rc = fi_domain(rail->fabric, (struct fi_info *)info, &rail->domain, NULL);
    if (rc != 0)
        return rail_failed("fi_domain", rc);
    rc = fi_av_open(rail->domain, &table, &rail->av, NULL);
    if (rc != 0)
        return rail_failed("fi_av_open", rc);
    rc = open_queue(rail);
    if (rc != 0)
        return rail_failed("fi_cq_open", rc);
    rc = open_endpoint(rail);
    return rc == 0 ? MPI_SUCCESS : rail_failed("fi_endpoint", rc);
}

static int post_all(weft_rail_t *rail)
{
    lay_out(rail);
    long rc = post_again(rail);
    return rc == 0 || rc == -FI_EAGAIN ? MPI_SUCCESS : rail_failed("fi_recvmsg", rc);
}

int weft_rail_open(const struct fi_info *info, int index, const weft_rail_owner_t *owner,
                   weft_rail_t *out)
{
    *out = (weft_rail_t){.info = info, .index = index, .owner = owner};
    measure_rail(out);
    if (out->packet_max < PACKET_LEAST)
        return weft_fail(MPI_ERR_OTHER, "its messages have %zu bytes at most, Weft needs %d",
                         out->packet_max, PACKET_LEAST);
    int err = open_objects(out);
    if (err == MPI_SUCCESS)
        err = allocate_slots(out);
    if (err == MPI_SUCCESS)
        err = post_all(out);
    if (err != MPI_SUCCESS)
        weft_rail_close(out);
    return err;
}

static void close_fabric_object(struct fid *object)
{
    int rc = fi_close(object);
    if (rc != 0)
        WEFT_LOG(WEFT_INFO, "ofi", "fi_close: %s", weft_fabric_error(rc));
}

void weft_rail_close(weft_rail_t *rail)
{
    if (rail->ep != NULL)
        close_fabric_object(&rail->ep->fid);
    if (rail->memory_mr != NULL)
        close_fabric_object(&rail->memory_mr->fid);
    if (rail->cq != NULL)
        close_fabric_object(&rail->cq->fid);
    if (rail->av != NULL)
        close_fabric_object(&rail->av->fid);
    if (rail->domain != NULL)
        close_fabric_object(&rail->domain->fid);
    if (rail->fabric != NULL)
        close_fabric_object(&rail->fabric->fid);
    weft_free(rail->memory);
    weft_free(rail->buffers);
    weft_free(rail->slots);
    *rail = (weft_rail_t){0};
}
