/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of this folder share.
 *
 * Each pair of ranks has one connection, made by the rank that sends first. It carries frames: a
 * weft_header_t, `lead` bytes without meaning, then the payload. Kinds from WEFT_WIRE_THROTTLE on
 * are frames between the transports themselves.
 *
 *   READ     asks for bytes of registered memory; the peer answers with BLOCKs, or with NO_READ. If
 *            nothing else will be read (`ends`), the owner of the memory is told once the socket
 *            has the last of them
 *   BLOCK    some of the bytes that were asked for; context and tag are the number of the get
 *   NO_READ  the memory is not registered; context and tag are the number of the get
 */
#ifndef WEFT_TCP_TCP_PRIVATE_H
#define WEFT_TCP_TCP_PRIVATE_H

#include "runtime/transport.h"
#include "runtime/world.h"
#include "net/net_packet.h"
#include "net/net_peer.h"
#include "base/handshake.h"

#include <stdbool.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/uio.h>

enum { TCP_HOST_BYTES = 40 };

enum {
    FRAME_READ = WEFT_WIRE_RELEASE + 1,
    FRAME_BLOCK,
    FRAME_NO_READ,
    /* Sizes: of what stands in front of a payload, and the most of payloads. */
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
    uint64_t get;        /* the reader's number of the get */
    uint64_t ends;       /* 1: nothing else will be asked for */
} tcp_read_t;

/** What epoll watches: a member of each structure that has a descriptor. */
typedef struct tcp_source {
    int fd;
    bool wants_room; /* EPOLLOUT is asked for */
    bool rests;      /* it is not read until more data have come */
    bool is_deaf;    /* EPOLLIN is not asked for (tcp_pace.c) */
    /** Something can be read, or (is_writable) written. */
    void (*ready)(struct tcp_source *source, bool is_readable, bool is_writable);
} tcp_source_t;

/** A READ of the peer that is being answered. */
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
    TCP_CONNECTING, /* the kernel connects */
    TCP_CONNECTED,  /* this rank waits for the acceptor's hello */
    TCP_HANDSHAKE,  /* this rank has sent its reply to the hello */
    TCP_OPEN,
    TCP_LOST, /* for good */
} tcp_state_t;

/** What a rank says of itself in the handshake, as its name. */
typedef struct tcp_introduction {
    uint32_t source, dest;     /* ranks in the job */
    char host[TCP_HOST_BYTES]; /* of the source */
} tcp_introduction_t;

_Static_assert(sizeof(tcp_introduction_t) <= WEFT_NAME_BYTES, "it is the name in a handshake");

/** The verdicts of a handshake. */
enum { TCP_NOT_NEEDED, TCP_WELCOME }; /* not needed: the acceptor itself connects to the other */

typedef struct tcp_attempt tcp_attempt_t;

/** A rank of another host, made when this rank first sends to it or receives from it. */
typedef struct tcp_peer {
    weft_net_peer_t net; /* first: endpoint pointers are peer pointers */
    tcp_source_t source;
    char host[TCP_HOST_BYTES]; /* its name, for messages */
    tcp_state_t state;
    tcp_attempt_t *attempt; /* while we try to connect */
    bool is_dirty;          /* in wefti_tcp.dirty: there may be something to be sent */
    bool is_settling;       /* what waits is being written: frames that are added join it */
    unsigned epoch;         /* of the last direct write */
    size_t eager_busy,
        eager_idle;  /* endpoint.eager_max while something waits or has_pushed, and otherwise */
    bool has_pushed; /* a packet of more than eager_busy went unasked, and nothing has come from the
                        peer since */
    struct tcp_peer *next_dirty;
    /* out, in this order: the rest of a block's header, the rest of its data, the buffer; then new
     * blocks */
    char stub[HEAD_MAX];
    const char *tail;
    size_t stub_bytes, tail_bytes;
    char *out; /* [OUT_BYTES] frames that the socket has not taken yet */
    size_t out_begin, out_end;
    tcp_block_t *blocks, **last_block;
    /* in */
    weft_header_t header;
    size_t header_got; /* bytes of it and of its lead so far */
    char *place;       /* where the payload of `header` goes; NULL: it has not begun */
    size_t place_got;
    int rest_found; /* while source.rests: bytes that the socket had at the last look */
    int64_t rest_since, rest_looks; /* it has had them since then; the time of the next look */
    bool expects_large;             /* the last packet was large */
    char *assembly;                 /* [PACKET_MAX] for a packet that comes in pieces */
    /* gets of this rank from the peer, oldest first; from `unasked` on it was not asked for them */
    weft_get_t *gets, **last_get, *unasked;
    size_t wanted_bytes;   /* bytes of `gets` that have not come */
    struct tcp_pace *pace; /* of a simulated link; NULL: it is not paced */
} tcp_peer_t;

typedef struct weft_tcp {
    weft_sink_fn_t sink;
    int epoll_fd;
    tcp_source_t listener;
    uint8_t own_key[WEFT_SECRET_BYTES];
    weft_net_peers_t net;
    tcp_peer_t *dirty;
    tcp_block_t *taken; /* answers to READs that `end`: the owners of the memory are to be told */
    tcp_peer_t *hot;    /* the last peer that data came from */
    unsigned epoch;     /* the number of the round of progress: packets of one round are gathered */
    int quiet_rounds;   /* rounds of progress since anything happened */
    int attempts;       /* connections that are being made */
    uint64_t dropped;   /* connections that were not of this job */
    bool is_paced;      /* the hosts are simulated, and so is their link */
} weft_tcp_t;

extern weft_tcp_t wefti_tcp;

/** The peer structure of a rank of another host, made when there is none; NULL: no memory. */
tcp_peer_t *wefti_tcp_peer(int process);

/** A connection to the peer is open: it has an endpoint, whoever has connected. */
void wefti_tcp_peer_open(tcp_peer_t *peer);

/** A peer cannot be reached any more. The layer above may be in a send to it, so it is told at the
 *  end of the round; not at all if MPI ends. */
void wefti_tcp_peer_lost(tcp_peer_t *peer, const char *doing, int error);

/** The same for a peer that was never reached, for the reason that weft_fail has noted. */
void wefti_tcp_peer_unreachable(tcp_peer_t *peer);

/** Begin to watch `source` for reading; watch it for writing, too, or not; end watching it. */
void wefti_tcp_watch(tcp_source_t *source);
void wefti_tcp_want_room(tcp_source_t *source, bool is_wanted);
void wefti_tcp_want_data(tcp_source_t *source, bool is_wanted);
void wefti_tcp_unwatch(tcp_source_t *source);

/* tcp_connect.c */
/** Begin to connect to a peer that is apart. MPI_ERR_OTHER with a text, if there is no way to it.
 */
int wefti_tcp_connect(tcp_peer_t *peer);
/** End the connections that take too long to be made. */
void wefti_tcp_check_attempts(void);
/** Forget about an attempt; its socket belongs to the caller. */
void wefti_tcp_end_attempt(tcp_peer_t *peer);
int wefti_tcp_open_socket(void);
void wefti_tcp_prepare_socket(int fd);
void wefti_tcp_close_source(tcp_source_t *source);
void wefti_tcp_connect_close(void);

/* tcp_accept.c */
/** The protocol of handshakes and frames; it ends in its version. */
const char *wefti_tcp_protocol(void);
/** Find where to listen, and listen. */
int wefti_tcp_listen(void);
/** Publish the addresses where this rank listens. */
int wefti_tcp_publish(void);
/** End pending connections that are too many or too old. Not to be called while events of epoll are
 *  still to be handled, since those may name such a connection. */
void wefti_tcp_limit_pending(void);
/** The address and port of this end of a connection, or (is_peer) of the other, for a handshake. */
bool wefti_tcp_place(int fd, bool is_peer, uint8_t out[WEFT_PLACE_BYTES]);
void wefti_tcp_accept_close(void);

/* tcp_interfaces.c */
/** Look at the interfaces of this host; MPI_ERR_OTHER when none could reach others. */
int wefti_tcp_find_interfaces(void);
void wefti_tcp_interfaces_close(void);
/** The interface of the first address. */
const char *wefti_tcp_interface(void);
/** The addresses at which other hosts may reach this one, best first. */
int wefti_tcp_address_count(void);
in_addr_t wefti_tcp_address(int index);
/** Is it an address of this host? */
bool wefti_tcp_is_own(in_addr_t address);
/** Is it in a subnet of this host? */
bool wefti_tcp_is_near(in_addr_t address);
/** Tell the report which interfaces are passed over, and how fast the best is. */
void wefti_tcp_describe_interfaces(weft_rank_report_t *report);

/* tcp_out.c */
bool wefti_tcp_send(weft_endpoint_t *endpoint, weft_header_t header, const void *payload);
void *wefti_tcp_reserve(weft_endpoint_t *endpoint, size_t bytes);
void wefti_tcp_commit(weft_endpoint_t *endpoint, weft_header_t header);
void wefti_tcp_flush(weft_endpoint_t *endpoint);
void wefti_tcp_throttle(weft_endpoint_t *endpoint, bool is_on);
/** To be called when something has come from the peer. */
void wefti_tcp_note_heard(tcp_peer_t *peer);
/** Have wefti_tcp_flush_dirty() look at the peer. */
void wefti_tcp_note_dirty(tcp_peer_t *peer);
/** Send what waits for dirty peers; returns how many of them had something taken. */
int wefti_tcp_flush_dirty(void);
bool wefti_tcp_has_output(const tcp_peer_t *peer);
/** Drop what was to be sent. */
void wefti_tcp_out_drop(tcp_peer_t *peer);
void wefti_tcp_out_forget(tcp_peer_t *peer);
/** Write to the peer's socket; returns how many bytes it took; 0: none, or the peer is lost. */
size_t wefti_tcp_write(tcp_peer_t *peer, struct iovec *pieces, int count);
/** The same without a look at a simulated link. */
size_t wefti_tcp_write_socket(tcp_peer_t *peer, struct iovec *pieces, int count);
/** Make a header and its lead at `head` [HEAD_MAX], in front of a payload that goes to the socket
 * straight from its memory. The header is written `before` bytes after the beginning of what the
 * same system call writes. The lead is so long that the payload has the same offset in a cache line
 * as in its memory. Returns the bytes of both. */
size_t wefti_tcp_make_head(char *head, const weft_header_t *header, const void *payload,
                           size_t before);

/* tcp_block.c */
/** Answer a READ. */
void wefti_tcp_add_block(tcp_peer_t *peer, const tcp_read_t *read);
/** Write answers until the socket is full; true when none is left. Nothing else may wait for the
 * socket. */
bool wefti_tcp_write_blocks(tcp_peer_t *peer);
/** Take the oldest answer off the list if the socket has all of it. */
void wefti_tcp_end_block(tcp_peer_t *peer);
/** Tell the owners of memory that was read to its end; returns how many. */
int wefti_tcp_tell_taken(void);
/** Drop the answers to a peer. */
void wefti_tcp_drop_blocks(tcp_peer_t *peer);
void wefti_tcp_blocks_close(void);

/* tcp_in.c */
void wefti_tcp_peer_ready(tcp_source_t *source, bool is_readable, bool is_writable);
/** Read once, unless the peer's socket rests; how much was done: 0 or 1. */
int wefti_tcp_receive(tcp_peer_t *peer);
void wefti_tcp_in_forget(tcp_peer_t *peer);
void wefti_tcp_in_close(void);

/* tcp_pace.c */
/** Read WEFT_SIMULATE_LINK. MPI_ERR_OTHER with a text. */
int wefti_tcp_pace_open(void);
void wefti_tcp_pace_close(void);
/** The connection to the peer is open; where links are simulated, this one is. */
void wefti_tcp_pace_peer(tcp_peer_t *peer);
void wefti_tcp_pace_forget(tcp_peer_t *peer);
/** As wefti_tcp_write() and over wefti_tcp_write_socket(), for a paced peer. */
size_t wefti_tcp_pace_write(tcp_peer_t *peer, const struct iovec *pieces, int count);
/** How many bytes may be read now; 0: none, and errno is that of a read that finds nothing. What is
 *  read then is to be noted. */
size_t wefti_tcp_pace_read(tcp_peer_t *peer);
/** Will bytes arrive before a sleep would be over? */
bool wefti_tcp_pace_is_near(void);
void wefti_tcp_pace_note_read(tcp_peer_t *peer, size_t bytes);

/* tcp_silence.c */
/** To be called before a sleep, or in a wait that does not sleep: peers whose hosts have
 * acknowledged nothing for too long are lost. True: there were some. It looks once a second. */
bool wefti_tcp_look_for_silence(void);

/* tcp_get.c */
bool wefti_tcp_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const struct weft_memory *memory, weft_registration_t *out);
void wefti_tcp_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration);
void wefti_tcp_get(weft_get_t *get);
/** Does a READ ask for registered memory, with its key? */
bool wefti_tcp_may_read(const tcp_read_t *read);
/** The socket has all bytes of a READ that `ends`: tell the owner of the memory. */
void wefti_tcp_registration_ends(const tcp_read_t *read);
/** The get of this number that the peer was asked for and has not answered; NULL: none. */
weft_get_t *wefti_tcp_find_get(tcp_peer_t *peer, uint64_t number);
/** End a get. */
void wefti_tcp_end_get(tcp_peer_t *peer, weft_get_t *get, bool is_good);
/** Send the READs that are not out yet; false when there is no room for all of them. */
bool wefti_tcp_ask_gets(tcp_peer_t *peer);
void wefti_tcp_gets_close(void);

#endif
