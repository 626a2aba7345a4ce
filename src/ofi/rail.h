/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rail: one interface opened, with an endpoint, a completion queue, an address table, and the
 * memory that packets are received into and sent from.
 *
 *   receiving   a few large buffers that the provider fills with many packets each
 *               (FI_MULTI_RECV), or many buffers of one packet
 *   sending     fi_inject for what is short enough; slots of two sizes for the rest
 *
 * Every operation begins with a weft_ofi_op_t, whose first bytes are the provider's (FI_CONTEXT,
 * FI_CONTEXT2) and whose `done` is called with its completion.
 */
#ifndef WEFT_OFI_RAIL_H
#define WEFT_OFI_RAIL_H

#include "runtime/device.h"
#include "ofi/provider.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_rail weft_rail_t;
typedef struct weft_ofi_op weft_ofi_op_t;

struct weft_ofi_op {
    struct fi_context2 context;
    /** `error`: 0, or an error number of libfabric; with an error `entry` has only flags. */
    void (*done)(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error);
};

enum { WEFT_SLOT_SIZES = 2, WEFT_SLOT_SMALL = 4096, WEFT_INJECT_MOST = 256 };

/** Memory for a packet on its way out. */
typedef struct weft_rail_slot {
    weft_ofi_op_t op;
    weft_rail_t *rail;
    struct weft_rail_slot *next; /* while it is free, or waits for the provider */
    void *owner;                 /* set by the caller that took the slot */
    size_t bytes;                /* of the packet in it */
    int size_class;
    void *descriptor; /* for FI_MR_LOCAL */
    char *memory;
} weft_rail_slot_t;

typedef struct weft_receive_buffer {
    weft_ofi_op_t op;
    weft_rail_t *rail;
    char *memory;
    size_t bytes;
    bool is_posted;
} weft_receive_buffer_t;

/** Functions of the rail's owner, which the rail calls; errors are numbers of libfabric. */
typedef struct weft_rail_owner {
    /** Gets each packet that arrives, header included; the memory is valid during the call only. */
    void (*sink)(const char *packet, size_t bytes);
    /** A packet that was injected is lost, and the provider does not say for which peer it was. */
    void (*injected_lost)(int error);
    /** Nothing can be received any more, or a packet is missing and it is not known from which
     * peer. */
    void (*failed)(const char *doing, int error);
} weft_rail_owner_t;

struct weft_rail {
    const struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    int index;
    int wait_fd;       /* of the completion queue; -1: none */
    size_t packet_max; /* bytes, with header */
    size_t inject_max; /* bytes, with header; at most WEFT_INJECT_MOST */
    size_t read_max;   /* bytes of one fi_read */
    int reads_max;     /* at a time */
    bool is_sockets;   /* the kernel's network stack carries it */
    bool has_read;     /* remote memory can be read */
    bool has_hmem;     /* FI_HMEM is offered: device memory may be registered */
    bool has_multi_recv;
    bool needs_local;  /* FI_MR_LOCAL */
    uint64_t next_key; /* of registrations, unless the provider chooses the keys */
    bool is_dead;      /* its completions cannot be read any more */
    const weft_rail_owner_t *owner;
    char *memory; /* of all buffers and slots */
    size_t memory_bytes;
    struct fid_mr *memory_mr;
    weft_receive_buffer_t *buffers; /* [buffer_count] */
    int buffer_count, unposted;
    weft_rail_slot_t *slots;
    weft_rail_slot_t *free_slots[WEFT_SLOT_SIZES];
};

/** Open `info` as rail `index`; `owner` stays. On failure nothing is left. MPI_ERR_OTHER with a
 * text. */
int weft_rail_open(const struct fi_info *info, int index, const weft_rail_owner_t *owner,
                   weft_rail_t *out);
void weft_rail_close(weft_rail_t *rail);

/** Check that the interface is still up; if not, the rail is dead, and its owner is told. */
void weft_rail_watch(weft_rail_t *rail);

/** Handle completions; returns how many. */
int weft_rail_progress(weft_rail_t *rail);

/** Memory to be registered. */
typedef struct weft_rail_region {
    const void *data;
    size_t bytes;
    const weft_memory_t *memory; /* the device memory that it lies in; NULL: the host's */
} weft_rail_region_t;

/** Register memory. *out has its descriptor and key, and goes to fi_close(&(*out)->fid) in the end.
 *  Returns 0, or a negative error number of libfabric. */
int weft_rail_register(weft_rail_t *rail, const weft_rail_region_t *region, uint64_t access,
                       struct fid_mr **out);

/** The address by which peers name `data`, the first byte of a registration. */
uint64_t weft_rail_address(const weft_rail_t *rail, const void *data);

/** A slot with room for a packet of `bytes` bytes; NULL: none is free. */
weft_rail_slot_t *weft_rail_take_slot(weft_rail_t *rail, size_t bytes);
void weft_rail_give_slot(weft_rail_slot_t *slot);

#endif
