/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this folder share.
 *
 * One connection a pair of ranks, made by whoever sends first. On it go frames: a weft_header_t,
 * `lead` bytes without meaning, then its payload. Kinds from FRAME_THROTTLE on are of this
 * transport.
 *
 *   READ   asks for bytes of registered memory; the peer answers with BLOCKs, or with NO_READ. If
 * nothing else will be read (`ends`), the owner of the memory is told once the socket has the last
 * of them BLOCK  some of the bytes that were asked for; context and tag hold the number of the get
 */
#ifndef WEFT_TCP_TCP_PRIVATE_H
#define WEFT_TCP_TCP_PRIVATE_H

#include "runtime/transport.h"
#include "runtime/world.h"
#include "net/net_packet.h"
#include "net/net_peer.h"

#include <stdbool.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/uio.h>

enum { TCP_HOST_BYTES = 40 };

enum {
    FRAME_READ = WEFT_WIRE_RELEASE + 1,
    FRAME_BLOCK,
    FRAME_NO_READ,
    /* Bytes of a frame at most; what stands in front of the payload. */
    HEADER_BYTES = sizeof(weft_header_t),
    LINE_BYTES = 64,
    HEAD_MAX = HEADER_BYTES + LINE_BYTES, /* a header and its lead */
    PACKET_MAX = 1024 * 1024,
    BLOCK_MAX = 4 * 1024 * 1024,
};

/** The payload of a READ. */
typedef struct tcp_read {
    uint64_t address, bytes;
    uint64_t key, entry; /* of the registration */
    uint64_t get;        /* the number of the reader */
    uint64_t ends;       /* 1: nothing else will be asked for */
} tcp_read_t;

/** What epoll knows of: the first member of whatever has a descriptor. */
typedef struct tcp_source {
    int fd;
    bool wants_room; /* EPOLLOUT is asked for */
    bool rests;      /* what has come is left alone, for more to come */
    /** Something can be read, or (is_writable) written. */
    void (*ready)(struct tcp_source *source, bool is_readable, bool is_writable);
} tcp_source_t;

/** Bytes that we promised to send: a READ being answered. */
typedef struct tcp_block {
    struct tcp_block *next;
    const char *data;
    bool is_refusal; /* the answer is NO_READ */
    bool has_begun;
    size_t bytes, sent; /* `sent`: in frames that have begun */
    tcp_read_t read;
} tcp_block_t;

typedef enum tcp_state {
    TCP_APART,
    TCP_CONNECTING, /* the kernel works at it */
    TCP_HANDSHAKE,  /* our handshake is out */
    TCP_OPEN,
    TCP_LOST, /* for good */
} tcp_state_t;

typedef struct tcp_attempt tcp_attempt_t;

/** A rank of another host, made when it is first sent to or heard of. */
typedef struct tcp_peer {
    weft_net_peer_t net; /* first: endpoint pointers are peer pointers */
    tcp_source_t source;
    char host[TCP_HOST_BYTES]; /* its name, for messages */
    tcp_state_t state;
    tcp_attempt_t *attempt; /* while we try to connect */
    bool is_dirty;          /* in tcp.dirty: there may be something to be sent */
    unsigned epoch;         /* of the last direct write */
    size_t eager_busy,
        eager_idle;  /* what endpoint.eager_max is while something waits or has_pushed, and else */
    bool has_pushed; /* a packet of more than eager_busy went unasked, and nothing has come from the
                        peer since */
    struct tcp_peer *next_dirty;
    /* out: the rest of a block's header, the rest of its data, the buffer; then new blocks */
    char stub[HEAD_MAX];
    const char *tail;
    size_t stub_bytes, tail_bytes;
    char *out; /* [OUT_BYTES] frames that the socket did not take yet */
    size_t out_begin, out_end;
    tcp_block_t *blocks, **last_block;
    /* in */
    weft_header_t header;
    size_t header_got; /* and of its lead */
    char *place;       /* where the payload of `header` goes; NULL: it has not begun */
    size_t place_got;
    int rest_found; /* while source.rests: so much there is, since then; when to look next */
    int64_t rest_since, rest_looks;
    bool expects_large;  /* as the last packet was */
    char *assembly;      /* [PACKET_MAX] for a packet that came in pieces */
    weft_get_t *gets;    /* what we have asked for, oldest first */
    size_t wanted_bytes; /* of them, that are to come */
} tcp_peer_t;

typedef struct weft_tcp {
    weft_sink_fn_t sink;
    int epoll_fd;
    tcp_source_t listener;
    uint64_t own_key;
    weft_net_peers_t net;
    tcp_peer_t *dirty;
    tcp_block_t *taken; /* answers to READs that `end`: the owners of the memory are to be told */
    tcp_peer_t *hot;    /* the last that had something for us */
    unsigned epoch;     /* of progress: what is sent between two rounds goes out together */
    int quiet_rounds;   /* of progress, since anything happened */
    int attempts;       /* connections that are being made */
    uint64_t dropped;   /* connections of strangers */
} weft_tcp_t;

extern weft_tcp_t wefti_tcp;

/** The peer structure of a rank of another host, made when there is none; NULL: no memory. */
tcp_peer_t *wefti_tcp_peer(int process);

/** A peer cannot be reached any more. The layer above is told at the end of the round (it may be in
 *  the midst of a send to it), unless all are at the end anyway. */
void wefti_tcp_peer_lost(tcp_peer_t *peer, const char *doing, int error);

/** The same of a peer that was never reached, for the reason that weft_fail has noted. */
void wefti_tcp_peer_unreachable(tcp_peer_t *peer);

/** Have `source` watched for reading, and for writing or not. */
void wefti_tcp_watch(tcp_source_t *source);
void wefti_tcp_want_room(tcp_source_t *source, bool is_wanted);
void wefti_tcp_unwatch(tcp_source_t *source);

/* tcp_connect.c */
/** Find where to listen, and listen. */
int wefti_tcp_listen(void);
/** Tell the others where this rank listens. */
int wefti_tcp_publish(void);
/** Begin to connect to a peer that is apart. MPI_ERR_OTHER with a text, if there is no way to it.
 */
int wefti_tcp_connect(tcp_peer_t *peer);
/** Connections that take too long fail. */
void wefti_tcp_check_attempts(void);
/** Of those who have connected and not said who they are, only so many stay. Not while there are
 * events of epoll to be looked at: they name them. */
void wefti_tcp_limit_pending(void);
void wefti_tcp_connect_close(void);

/* tcp_interfaces.c */
/** Look at the interfaces of this host; MPI_ERR_OTHER when none could reach others. */
int wefti_tcp_find_interfaces(void);
void wefti_tcp_interfaces_close(void);
/** The interface of the first address. */
const char *wefti_tcp_interface(void);
/** The addresses where others may find us, best first. */
int wefti_tcp_address_count(void);
in_addr_t wefti_tcp_address(int index);
/** Is it an address of this host? */
bool wefti_tcp_is_own(in_addr_t address);
/** Is it in a subnet that we are in? */
bool wefti_tcp_is_near(in_addr_t address);
/** For the report: which interfaces are passed over, and how fast the best is. */
void wefti_tcp_describe_interfaces(weft_rank_report_t *report);

/* tcp_out.c */
bool wefti_tcp_send(weft_endpoint_t *endpoint, const weft_header_t *header, const void *payload);
void *wefti_tcp_reserve(weft_endpoint_t *endpoint, size_t bytes);
void wefti_tcp_commit(weft_endpoint_t *endpoint, const weft_header_t *header);
void wefti_tcp_flush(weft_endpoint_t *endpoint);
void wefti_tcp_throttle(weft_endpoint_t *endpoint, bool is_on);
/** Something has come from the peer. */
void wefti_tcp_note_heard(tcp_peer_t *peer);
/** See to it that the peer gets its turn in wefti_tcp_flush_dirty(). */
void wefti_tcp_note_dirty(tcp_peer_t *peer);
/** How much went out. */
int wefti_tcp_flush_dirty(void);
bool wefti_tcp_has_output(const tcp_peer_t *peer);
/** Give up what was to be sent. */
void wefti_tcp_out_drop(tcp_peer_t *peer);
void wefti_tcp_out_forget(tcp_peer_t *peer);
/** Write to the peer's socket: how many bytes it took; 0: none, or the peer is lost. */
size_t wefti_tcp_write(tcp_peer_t *peer, struct iovec *pieces, int count);
/** A header and its lead at `head` [HEAD_MAX], to stand in front of a payload that goes to the
 * socket from where it lies, `before` bytes after the beginning of what the same system call
 * writes. The lead makes the payload begin as far into a line as it does at its source. How many
 * bytes. */
size_t wefti_tcp_make_head(char *head, const weft_header_t *header, const void *payload,
                           size_t before);

/* tcp_block.c */
/** Answer a READ. */
void wefti_tcp_add_block(tcp_peer_t *peer, const tcp_read_t *read);
/** Write the answers until the socket is full; true when none is left. Nothing else may wait. */
bool wefti_tcp_write_blocks(tcp_peer_t *peer);
/** Take the oldest answer off the list if the socket has all of it. */
void wefti_tcp_end_block(tcp_peer_t *peer);
/** Tell the owners of memory that was read to its end. How many. */
int wefti_tcp_tell_taken(void);
/** Give up the answers to a peer. */
void wefti_tcp_drop_blocks(tcp_peer_t *peer);
void wefti_tcp_blocks_close(void);

/* tcp_in.c */
void wefti_tcp_peer_ready(tcp_source_t *source, bool is_readable, bool is_writable);
/** Read once, unless the peer's socket rests; how much was done: 0 or 1. */
int wefti_tcp_receive(tcp_peer_t *peer);
void wefti_tcp_in_forget(tcp_peer_t *peer);
void wefti_tcp_in_close(void);

/* tcp_silence.c */
/** Before a sleep, or where a wait does not sleep: give up peers whose hosts have been silent for
 * too long. Were there any? Looks once a second. */
bool wefti_tcp_look_for_silence(void);

/* tcp_get.c */
bool wefti_tcp_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const struct weft_memory *memory, weft_registration_t *out);
void wefti_tcp_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration);
void wefti_tcp_get(weft_get_t *get);
/** Is this memory that is registered? */
bool wefti_tcp_may_read(const tcp_read_t *read);
/** The socket has all bytes of a READ that `ends`: tell the owner of the memory. */
void wefti_tcp_registration_ends(const tcp_read_t *read);
/** The get of this number that waits for the peer's answer; NULL: none. */
weft_get_t *wefti_tcp_find_get(tcp_peer_t *peer, uint64_t number);
/** A get is over. */
void wefti_tcp_end_get(tcp_peer_t *peer, weft_get_t *get, bool is_good);
/** Send the READs that found no room before. */
bool wefti_tcp_ask_gets(tcp_peer_t *peer);
void wefti_tcp_gets_close(void);

#endif
