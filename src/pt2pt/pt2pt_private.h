/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the requests, the messages that wait, the two queues. */
#ifndef WEFT_PT2PT_PT2PT_PRIVATE_H
#define WEFT_PT2PT_PT2PT_PRIVATE_H

#include "pt2pt/cancel.h"
#include "pt2pt/dense.h"
#include "pt2pt/match.h"
#include "pt2pt/packet.h"
#include "pt2pt/pt2pt.h"
#include "runtime/vci.h"
#include "base/own_symbol.h"

typedef struct weft_send {
    weft_request_t request; /* first */
    weft_send_args_t args;  /* the type is retained while active, and while persistent */
    size_t bytes;           /* of the message */
    weft_endpoint_t *endpoint;
    weft_endpoint_t *through; /* in the VCI of the message: for the packets that are matched */
    enum {
        WEFT_SEND_FIRST,   /* EAGER, EAGER_FIRST or RTS has to go out */
        WEFT_SEND_SPLIT,   /* EAGER_FIRST is out; EAGER_NEXT go out as there is room */
        WEFT_SEND_RTS_OUT, /* RTS is out; the receiver answers next */
        WEFT_SEND_STREAM,  /* DATA goes out as there is room */
        WEFT_SEND_CONTROL  /* not a send of the user: an answer that found no room */
    } stage;
    weft_header_t header; /* of a WEFT_SEND_CONTROL */
    union {
        weft_cts_t cts;     /* of a WEFT_SEND_STREAM: the last CTS */
        weft_offer_t offer; /* these: the payload of a WEFT_SEND_CONTROL */
    };
    size_t sent;          /* bytes of the stream, or of a split message, that went out */
    size_t ready;         /* bytes of the stream that may go out so far */
    int64_t announced_ns; /* when a RTS_SHORT went out; 0: none did */
    bool is_queued;       /* in the endpoint's list */
    bool is_registered;   /* `registration` is set: the peer may read the data */
    bool is_asked;        /* it is known whether */
    bool is_read;         /* the receiver would rather read it, though it may go unasked */
    bool is_unwanted;     /* MPI_Cancel came while it was split: it is cancelled when all is out */
    weft_registration_t registration;
    void *payload;                   /* of a WEFT_SEND_CONTROL, from weft_alloc; NULL: as above */
    struct weft_device_send *device; /* device_send.c; NULL: host memory */
    weft_cancellable_t cancel;
    struct weft_send *next; /* in the endpoint's list of sends that wait for room */
} weft_send_t;

/* What a small message needs stands first, in few cache lines: windows of receives stay in the
 * first cache. */
typedef struct weft_recv {
    weft_request_t request; /* first */
    weft_recv_args_t args;  /* the type is retained while active, and while persistent */
    size_t capacity;        /* bytes that fit into the buffer */
    union {
        size_t message_bytes;            /* of the matched message */
        struct weft_recv *next_prepared; /* recv_request.c */
    };
    struct weft_device_recv *device; /* device_recv.c; NULL: host memory on both sides */
    union {
        struct {
            bool is_plain; /* the buffer is one run of host memory */
            bool is_queued;
            bool is_blocking;  /* of a call that begins and ends it: no program can cancel it */
            bool may_pend;     /* the program has its request: failed.c */
            bool is_streaming; /* DATA may come */
            bool is_split;     /* EAGER_NEXT will come */
            bool is_preferred; /* as the transport preferred that: stream_over() is to be called */
            bool is_landing;   /* the transport writes to get.to */
        };
        uint64_t flags; /* all of them */
    };
    int peer;                 /* process that the matched message came from */
    weft_match_entry_t entry; /* in the queue of receives while nothing has matched */
    size_t arrived;           /* bytes of the stream, or of a split message, so far */
    uint64_t sender;          /* the sender's request, while its memory is being read */
    weft_get_t get;
} weft_recv_t;

/* A message that no receive has asked for yet. */
struct weft_message {
    weft_object_t object; /* first; its kind is set when a matched probe has taken the message */
    weft_match_entry_t entry; /* key.source is a process */
    weft_comm_t *comm;        /* of the probe */
    weft_rts_t rts;           /* an eager message: request is 0 */
    void *data;               /* [rts.bytes] NULL when the sender still has them */
    size_t missing;           /* bytes of `data` that EAGER_NEXT will bring */
    bool is_spare;            /* it goes back to weft_matching_t.spares; */
    weft_message_t *next_spare;
    weft_recv_t *fetching; /* our own receive into `data`, before one is posted; NULL: none */
    weft_recv_t *taker;    /* the receive that waits until all data are here */
    char room[128];        /* `data` points here when they fit */
};

/** What belongs to a VCI (runtime/vci.h), in lines of its own. */
typedef struct weft_matching {
    _Alignas(128) weft_match_queue_t receives;
    weft_match_queue_t messages;
    /* Receives of the short way that are over. What all of these have in common is still set, so
     * the next one takes few steps. */
    weft_recv_t *prepared;
    weft_message_t *spares; /* for messages that come by the VCI's lock alone (vci_dense.c) */
    uint64_t arrivals;      /* of those */
    unsigned ends;          /* how often requests were looked at by that lock alone, */
    unsigned vain, skipped; /* of late in vain, and since then not for long */
    bool is_open;           /* threads may use the VCI with its lock alone */
} weft_matching_t;

typedef struct weft_pt2pt {
    weft_matching_t vcis[WEFT_VCIS];
    size_t messages_bytes; /* of data kept in `messages` */
    bool is_throttling;
    size_t active_sends;   /* not complete */
    bool is_out;           /* nothing waits for room: as of the last wefti_note_idle() */
    bool is_idle;          /* and no send is active */
    bool is_ending;        /* in MPI_Finalize: no error of a request will be seen any more */
    int unseen;            /* sends that have failed and had nobody to tell */
    char unseen_text[384]; /* of the first */
    bool have_ended;       /* some peers, at two looks (unsent.c) */
    int lost_peers;
    bool has_trouble;           /* a peer is lost, or a communicator is revoked */
    weft_context_set_t revoked; /* contexts of revoked communicators, even ones */
    bool is_network_lost;       /* no rank of another host can be reached */
    char lost_text[384];        /* why the last peer was lost */
} weft_pt2pt_t;

extern WEFT_OWN_SYMBOL weft_pt2pt_t wefti_pt2pt;

/** Where messages of a context are matched. */
static inline weft_matching_t *wefti_matching(uint32_t context)
{
    return &wefti_pt2pt.vcis[weft_vci_of(context)];
}

/** The queue of receives that one is in. */
static inline weft_match_queue_t *wefti_receives_with(const weft_recv_t *recv)
{
    return &wefti_matching(recv->entry.key.context)->receives;
}

/** The queue of messages that one is in. */
static inline weft_match_queue_t *wefti_messages_with(const weft_message_t *message)
{
    return &wefti_matching(message->entry.key.context)->messages;
}

/** What this folder keeps for each peer, in weft_endpoint_t.upper. */
typedef struct __attribute__((may_alias)) weft_peer_sends {
    weft_send_t *waiting_first, **waiting_last; /* sends that wait for room, in order */
    weft_endpoint_t *next_pending;              /* in the list of peers with such sends */
    bool cannot_map; /* the peer has said that it cannot map device memory of this process */
    bool has_shares; /* the peer may have mapped device memory of this process */
    /* Of unreceived.c and unsent.c, each a weft_leaving_t. */
    uint8_t told_leaving : 2; /* how far the peer has said that it has come */
    uint8_t leaving : 2;      /* how far it had come at the last look */
    uint8_t had_ended : 2;    /* the looks at which it had come to WEFT_ENDS: 0, 1, 2 or more */
    uint8_t is_awaited : 1;   /* a receive waits for it, and cannot be cancelled */
} weft_peer_sends_t;

/** The split message that comes from a peer, behind the former. Both NULL: it is dropped. */
typedef struct __attribute__((may_alias)) weft_split {
    weft_recv_t *recv;       /* gets it, */
    weft_message_t *message; /* or this keeps it */
    uint32_t left, bytes;    /* that have not come, of so many */
    int64_t sent_ns;         /* when the sender began, or 0 */
} weft_split_t;

_Static_assert(sizeof(weft_peer_sends_t) + sizeof(weft_split_t) <= WEFT_UPPER_BYTES,
               "they fit into an endpoint");

static inline weft_peer_sends_t *wefti_sends_to(weft_endpoint_t *endpoint)
{
    return (weft_peer_sends_t *)endpoint->upper;
}

/** The endpoint that a send goes on with, and waits for. */
static inline weft_endpoint_t *wefti_send_next(const weft_send_t *send)
{
    bool is_message = send->stage == WEFT_SEND_FIRST || send->stage == WEFT_SEND_SPLIT;
    return is_message ? send->through : send->endpoint;
}

static inline weft_split_t *wefti_split_from(weft_endpoint_t *endpoint)
{
    return (weft_split_t *)(endpoint->upper + sizeof(weft_peer_sends_t));
}

/** Where messages of a context go that are for a rank of `comm`; NULL, with a text of weft_fail: it
 *  cannot be reached. */
static inline weft_endpoint_t *wefti_message_endpoint(const weft_send_args_t *args)
{
    weft_endpoint_t *endpoint = weft_comm_endpoint(args->comm, args->dest);
    return endpoint == NULL ? NULL : weft_endpoint_of_vci(endpoint, weft_vci_of(args->context));
}

/** Where the first byte of data is. Added as integers, since the buffer may be MPI_BOTTOM. */
static inline void *wefti_first_byte(const void *buf, const weft_type_t *type)
{
    return (void *)((uintptr_t)buf + (uintptr_t)type->true_lb);
}

/** Are the data of a call in device memory? It costs two loads where no device is in use. */
static inline bool wefti_sends_device(const weft_send_args_t *args)
{
    if (__builtin_expect(*weft_device_news == 0, 1) || args->where == WEFT_WHERE_HOST)
        return false;
    return args->where == WEFT_WHERE_DEVICE ||
           (!args->comm->is_host_only && weft_is_device(wefti_first_byte(args->buf, args->type)));
}

static inline bool wefti_receives_device(const weft_recv_args_t *args)
{
    if (__builtin_expect(*weft_device_news == 0, 1) || args->where == WEFT_WHERE_HOST)
        return false;
    return args->where == WEFT_WHERE_DEVICE ||
           (!args->comm->is_host_only && weft_is_device(wefti_first_byte(args->buf, args->type)));
}

/** To be called when a send has ended or a packet that waited is out. */
void wefti_note_idle(void);

/** The error of a request as it goes to the peer. */
weft_packet_error_t wefti_packet_error(const weft_request_t *request);
/** Note the error that came in place of data. */
void wefti_note_packet_error(weft_request_t *request, const void *payload, size_t bytes);

/* send.c */
/** Send an answer (CTS or FIN) about the sender's request; if there is no room it goes out later.
 * `cts` NULL: without payload. */
void wefti_send_answer(weft_endpoint_t *endpoint, uint8_t kind, uint64_t request,
                       const weft_cts_t *cts);
/** The same with the error of `failed`. */
void wefti_send_error(weft_endpoint_t *endpoint, uint8_t kind, uint64_t request,
                      const weft_request_t *failed);
/** FIN: the data of the sender's request have been copied. `fin` NULL: it was no RTS_SHORT. */
void wefti_send_was_read(weft_endpoint_t *endpoint, uint64_t request, const weft_fin_t *fin);
/** Send a packet that must not overtake what waits for room: no message, no answer. `payload` may
 * be NULL if it is empty. */
void wefti_send_in_order(weft_endpoint_t *endpoint, const weft_header_t *header,
                         const void *payload);
void wefti_send_cts(int source, const weft_header_t *header, const void *payload);
/** The receiver has all data of a send. */
void wefti_send_fin(int source, const weft_header_t *header, const void *payload);
/** The receiver cannot take the data. */
void wefti_send_nack(int source, const weft_header_t *header, const void *payload);
/** More of a stream may go out. */
void wefti_send_more(weft_send_t *send);
/** Send the RTS of a message; of one that may go unasked, where wefti_send_is_read(). False: there
 *  is no room. */
bool wefti_send_announce(weft_send_t *send);
bool wefti_send_announce_short(weft_send_t *send);
/** Would the receiver rather read a message that may go unasked? */
bool wefti_send_is_read(weft_send_t *send);
/** End a send: its request is complete, with whatever error was noted. */
void wefti_send_finish(weft_send_t *send);
/** The same as soon as no device works on the buffer. */
void wefti_send_stop(weft_send_t *send);
/** End all sends to a lost peer. */
void wefti_sends_lose(weft_endpoint_t *endpoint);
/** One step of a send, or a control packet; false when there is no room. May end it. */
bool wefti_send_push(weft_send_t *send);
/** Free a control packet. */
void wefti_send_give_control(weft_send_t *send);
/** Call `visit` with every send of a user that is not complete. */
void wefti_sends_each(void (*visit)(weft_send_t *send, void *context), void *context);
void wefti_sends_close(void);

/* cancel.c */
/** A message that was logged (weft_sent_log) did not go out. */
void wefti_unlog_message(uint32_t context, uint64_t number);

/** Will weft_sent_take() give a request of the VCI? */
bool wefti_sent_is_prepared(int vci);
/** The VCI of a request of weft_sent_create(); 0: it is none, or in VCI 0. */
int wefti_sent_vci(const weft_request_t *request);
/** Release such a request with the lock of its VCI alone; false: it may have been cancelled, and
 *  nothing was done. */
bool wefti_sent_end(weft_request_t *request);

/** The eager message of a send is out. */
void wefti_cancel_count(weft_cancellable_t *cancel);
/** A send is released or started again. */
void wefti_cancel_forget(weft_cancellable_t *cancel);
/** Ask the receiver to drop the message of a send, which becomes incomplete if it was eager.
 * `endpoint`: of an announced message. False: it cannot be asked any more. */
bool wefti_cancel_begin(weft_cancellable_t *cancel, weft_request_t *request,
                        weft_endpoint_t *endpoint);
void wefti_cancel_is_asked(int source, const weft_header_t *header, const void *payload);
void wefti_cancel_is_answered(int source, const weft_header_t *header, const void *payload);
/** weft_request_ops_t.cancel of a weft_send_t. */
void wefti_send_cancel(weft_request_t *request);
/** A peer that is lost answers no more. */
void wefti_cancels_lose(weft_endpoint_t *endpoint);
void wefti_cancels_close(void);

/* unsent.c */
/** Mark the peers that messages must come from for the thread that waits for `flag` to go on. */
void wefti_unsent_mark(const bool *flag);
/** End receives whose senders had come to WEFT_ENDS at two looks; `flag` as above. */
void wefti_unsent_end(const bool *flag);
/** Can no message come any more for what this asks for? Sets the text of weft_fail. */
int wefti_unsent_check(const weft_recv_args_t *args);

/* unreceived.c */
void wefti_leaving_is_asked(int source, const weft_header_t *header, const void *payload);
void wefti_leaving_is_told(int source, const weft_header_t *header, const void *payload);
/** A send that has failed is over, and nobody will look at its request. */
void wefti_note_unseen(const weft_request_t *request);

/* send_queue.c */
/** Have it pushed when there is room, after all that waits for its peer already. */
void wefti_send_enqueue(weft_send_t *send);
/** Take a send out of the list again. */
void wefti_send_dequeue(weft_send_t *send);
/** Does no packet wait for room? */
bool wefti_sends_are_out(void);
/** Has each send of a user that is not complete told its receiver of the message? */
bool wefti_sends_are_announced(void);
/** Drop waiting SHARE_FREED packets at the end: a peer may have ended with its ring full, and would
 * never make room for them. */
void wefti_sends_forget_hints(void);
void wefti_send_queues_close(void);

static inline void wefti_note_received(int source, size_t bytes)
{
    if (__builtin_expect(weft_traffic_watched != 0, 0))
        weft_traffic_note_received(source, bytes);
}

/** Is nobody interested in how a message finds its receive? */
static inline bool wefti_is_unobserved(void)
{
    return !wefti_pt2pt.has_trouble && weft_traffic_watched == 0 &&
           weft_match_attempts.watched == 0;
}

/* recv_request.c */
/** Is this a receive, live or released? */
bool wefti_recv_is_one(const void *pointer);
int wefti_recv_create(const weft_recv_args_t *args, weft_recv_t **out);
/** A receive has got its message: take the data, or have them sent. `data` NULL: they did not come
 * with the packet. */
void wefti_recv_matched(weft_recv_t *recv, const weft_match_key_t *from, const weft_rts_t *rts,
                        const void *data);
void wefti_recv_data(int source, const weft_header_t *header, const void *payload);
/** The first receive that waits for a message of this key; NULL: none. */
weft_recv_t *wefti_recv_find(const weft_match_key_t *key);
/** It gets that message, of `bytes` bytes, whose data are not here yet. */
void wefti_recv_take(weft_recv_t *recv, const weft_match_key_t *key, size_t bytes);
/** The next bytes of a stream or split message, into host memory; with the last the receive ends.
 */
void wefti_recv_more(weft_recv_t *recv, const void *data, size_t bytes);
/** The receive that the data of a packet are for, if it expects them; NULL: none. */
weft_recv_t *wefti_recv_named(int source, const weft_header_t *header);
/** The sender cannot go on with a stream. */
void wefti_recv_data_error(int source, const weft_header_t *header, const void *payload);
/** Ask for the data as packets, or for more of them; fills in cts->request. `sender` is the
 * sender's request. */
void wefti_recv_stream(weft_recv_t *recv, weft_endpoint_t *endpoint, uint64_t sender,
                       weft_cts_t *cts);
/** All data are there: complete the request. */
void wefti_recv_finish(weft_recv_t *recv);
/** End with the error that was noted. */
void wefti_recv_fail(weft_recv_t *recv);
/** The same, as soon as no device works on the buffer. */
void wefti_recv_stop(weft_recv_t *recv);
/** Take a receive out of the queue, and end it with an error. */
void wefti_recv_end_queued(weft_recv_t *recv, int error);
/** The call that has begun this receive waits for it now. */
static inline void wefti_recv_block(weft_request_t *request)
{
    weft_recv_t *recv = (weft_recv_t *)request;
    int vci = weft_vci_of(recv->args.context);
    bool has_entered = weft_vci_enter(vci);
    if (!request->is_complete)
        recv->is_blocking = true;
    weft_vci_leave(vci, has_entered);
}
/** The peer is lost: end with an error, as soon as no device works on the buffer. */
void wefti_recv_lose(weft_recv_t *recv);
/** The endpoint of the rank that a matched message came from, to answer it; NULL: it cannot be
 * reached, and the receive has ended with that error. */
weft_endpoint_t *wefti_recv_endpoint(weft_recv_t *recv, int source);
/** Can no message come from `source` any more, or from some rank, if it is MPI_ANY_SOURCE? */
bool wefti_is_from_lost(int source);
/** End all receives that wait for a lost peer; MPI_ANY_SOURCE: for any rank of another host. */
void wefti_recvs_lose(int process);
void wefti_recvs_close(void);

/** A message has come: give it to the receive that matches, or keep it until one is posted. */
void wefti_deliver(const weft_match_key_t *key, const weft_rts_t *rts, const void *data);

/** The same for an EAGER. */
void wefti_recv_eager(int source, weft_header_t header, const void *payload);

/** Of receives of the short way, which are never persistent. */
extern WEFT_OWN_SYMBOL const weft_request_ops_t wefti_dense_recv_ops;

/** The receive of the short way in VCI 0 that a request is, if it waits; NULL: it does not, or is
 *  none. */
static inline weft_recv_t *wefti_dense_recv_of(weft_request_t *request)
{
    weft_recv_t *recv = (weft_recv_t *)request;
    bool is_dense = request->ops == &wefti_dense_recv_ops;
    return is_dense && weft_vci_of(recv->args.context) == 0 && recv->is_queued ? recv : NULL;
}

/** Prepare some receives of a VCI, if it has none, for the next ones. */
void wefti_recvs_prepare(int vci);

/** Set all of a prepared receive but the process that it waits for; its message has not come. */
static inline void wefti_dense_recv_set(weft_recv_t *recv, void *buf, weft_dense_message_t message,
                                        int source, int tag)
{
    weft_comm_t *comm = message.comm;
    recv->request.object.kind = WEFT_KIND_REQUEST;
    recv->request.comm = recv->args.comm = comm;
    recv->request.flags = 0;
    recv->request.is_active = true;
    recv->args.buf = buf;
    recv->args.count = recv->capacity = message.bytes;
    recv->args.context = recv->entry.key.context = comm->context;
    recv->args.source = source;
    recv->args.tag = recv->entry.key.tag = tag;
    recv->flags = 0;
    recv->is_plain = recv->is_queued = true;
}

/** Does a receive of the short way wait before all others of its VCI, and is nothing unusual about
 * it? Then the next message of its source that has its context and tag is its own. */
static inline bool wefti_recv_is_first(const weft_matching_t *vci, const weft_recv_t *recv)
{
    const weft_match_queue_t *receives = &vci->receives;
    return receives->order.next == &recv->entry.order && !receives->is_binned && recv->is_plain &&
           weft_request_is_simple(&recv->request);
}

/** Calls of weft_cpu_relax() between looks for a message. Where several receives wait, messages
 * come one after the other, and each look takes a line from a sender that writes. */
static inline int wefti_pauses_between(const weft_matching_t *vci, weft_looks_t looks)
{
    enum { SEVERAL = 4 };
    return vci->receives.count > SEVERAL ? 2 * looks.between : looks.between;
}

/** Is this the header of the next message that such a receive takes, in one piece? */
static inline bool wefti_is_taken_so(weft_header_t header, weft_dense_message_t message, int tag)
{
    return header.context == message.comm->context && (header.tag == tag || tag == MPI_ANY_TAG) &&
           header.bytes <= message.bytes;
}

/** A receive is over: receives of the short way have used the communicator, others have a
 *  reference. */
static inline void wefti_recv_release_comm(weft_recv_t *recv)
{
    int vci = weft_vci_of(recv->args.context);
    if (__builtin_expect(vci == 0 || recv->request.ops != &wefti_dense_recv_ops, 1)) {
        weft_comm_release(recv->args.comm);
        return;
    }
    bool has_entered = weft_vci_enter(vci);
    weft_comm_end_last_vci_use(recv->args.comm);
    weft_vci_leave(vci, has_entered);
}

/** A receive of the short way is prepared for the next message of its VCI. */
static inline void wefti_recv_prepared(weft_matching_t *vci, weft_recv_t *recv)
{
    recv->next_prepared = vci->prepared;
    vci->prepared = recv;
}

/** Give back a receive of the short way that has ended well, and is marked as freed. */
static inline void wefti_dense_recv_give(weft_recv_t *recv)
{
    wefti_recv_release_comm(recv);
    wefti_recv_prepared(wefti_matching(recv->args.context), recv);
}

/** Give back a message that is a spare one of its VCI. */
static inline void wefti_spare_give(weft_matching_t *vci, weft_message_t *message)
{
    message->next_spare = vci->spares;
    vci->spares = message;
}

/** Call `visit` with every receive, also released ones. */
void wefti_recvs_each(void (*visit)(void *object, void *context), void *context);

/* pieces.c */
/** Send what there is room for of what the receiver has asked for; true when all of that is out. */
bool wefti_stream_push(weft_send_t *send);
/** Send what there is room for of a message that goes unasked in several packets, and end the send
 * with the last; false when there is no room. */
bool wefti_split_push(weft_send_t *send);
void wefti_split_first(int source, const weft_header_t *header, const void *payload);
void wefti_split_next(int source, const weft_header_t *header, const void *payload);
/** A receive ends before all of its split message has come. */
void wefti_split_forget(const weft_recv_t *recv);
/** No more packets come from a process. */
void wefti_split_lose(int process);
/** The transport has written all data of an EAGER into the receiver's buffer (weft_packet_land). */
void wefti_recv_landed(int source, const weft_header_t *header, const void *payload);

/* failed.c */
/** The error of what needs a lost process, with its text; WEFT_NO_PROCESS: of any. */
int wefti_fail_lost(int process);
/** Can no message come on `comm` from `source` (or MPI_ANY_SOURCE)? An error with a text. */
int wefti_check_source(const weft_comm_t *comm, int source);
/** A receive is about to wait. True: it has ended with an error. */
bool wefti_recv_is_refused(weft_recv_t *recv);
/** It waits now: it may be pending at once. */
void wefti_recv_note_queued(weft_recv_t *recv);
/** A pending receive waits as others do. */
void wefti_recv_resume(weft_recv_t *recv);
/** With WEFT_RECOVERY: end what waits for a process. */
void wefti_process_failed(int process, const char *why);
/** Is it an even context of a revoked communicator? */
bool wefti_context_is_revoked(uint32_t context);
/** Is the message, or partition, one of a revoked communicator? */
bool wefti_message_is_refused(const weft_match_key_t *key);
/** Refuse the partitions of a channel from now on, and those that are here. */
void wefti_refuse_channel(uint32_t context, int source);
void wefti_failed_close(void);
/** Tell the sender of a message that the communicator was revoked. */
void wefti_refuse(int source, const weft_rts_t *rts);

/* partitioned_send.c, partitioned_recv.c */
void wefti_offer_arrived(int source, const weft_header_t *header, const void *payload);
/** End all partitioned receives that wait for an offer of a lost peer; as wefti_recvs_lose. */
void wefti_precvs_lose(int process);
/** End those that wait for an offer on a communicator that is revoked now. */
void wefti_precvs_revoke(uint32_t context);
void wefti_precvs_open(void);
void wefti_precvs_close(void);
void wefti_psends_close(void);

/** End sends, of a communicator that is revoked or to a process that has failed, some of whose
 * partitions will not be ready any more. */
void wefti_psends_end(uint32_t context, int process);

/* exchange.c */
/** Is this receive a part of an exchange, whose request it is that `flag` is of? */
bool wefti_exchange_waits(const weft_request_t *recv, const bool *flag);
void wefti_exchanges_close(void);

/* message.c */
/** Make `count` messages that a VCI's lock alone is enough to use, as far as there is memory. */
void wefti_spares_fill(weft_matching_t *vci, int count);
void wefti_messages_close(void);
weft_message_t *wefti_message_take(weft_match_key_t key);
weft_message_t *wefti_message_peek(weft_match_key_t key);
void wefti_message_keep(const weft_match_key_t *key, const weft_rts_t *rts, const void *data);
/** Keep a message of `bytes` bytes, whose data will come. `taker`: for this receive, which has
 * matched already; NULL: for any. NULL: the message is refused. */
weft_message_t *wefti_message_begin(const weft_match_key_t *key, size_t bytes, weft_recv_t *taker);
/** Its next bytes. */
void wefti_message_more(weft_message_t *message, const void *data, size_t bytes);
/** They will not come: it becomes an error. */
void wefti_message_break(weft_message_t *message, int process);
/** Fetch what was announced and could have come unasked: this rank will not receive it. */
void wefti_messages_fetch(void);
/** Drop the messages that are refused now, and tell their senders. `key`: only those of a channel.
 */
void wefti_messages_refuse(const weft_match_key_t *key);
/** Drop the message that a CANCEL of `source` names; false: it is not there any more. */
bool wefti_message_drop(int source, const weft_cancel_t *cancel);
/** How many probes wait. */
extern WEFT_OWN_SYMBOL atomic_int wefti_probes_waiting;
/** Probes that wait look again: a message has come, or a peer is lost. */
void wefti_probes_wake(void);
/** Call `visit` with what each probe that waits asks for. */
void wefti_probes_each(void (*visit)(const weft_recv_args_t *args, void *context), void *context);
/** Hand the message's data to a receive and free it. */
void wefti_message_deliver(weft_message_t *message, weft_recv_t *recv);

#endif
