/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the requests, the messages that wait, the two queues. */
#ifndef WEFT_PT2PT_PT2PT_PRIVATE_H
#define WEFT_PT2PT_PT2PT_PRIVATE_H

#include "pt2pt/match.h"
#include "pt2pt/packet.h"
#include "pt2pt/pt2pt.h"

typedef struct weft_send {
    weft_request_t request; /* first */
    weft_send_args_t args;  /* the type is retained while active, and while persistent */
    size_t bytes;           /* of the message */
    weft_endpoint_t *endpoint;
    enum {
        WEFT_SEND_FIRST,  /* EAGER or ASK has to go out */
        WEFT_SEND_ASKED,  /* ASK is out; the receiver has the next word */
        WEFT_SEND_STREAM, /* DATA goes out as there is room */
        WEFT_SEND_CONTROL /* no request of a user: an answer that found no room */
    } stage;
    weft_header_t header;   /* of a WEFT_SEND_CONTROL */
    weft_go_t go;           /* its payload; of a WEFT_SEND_STREAM: what DATA names */
    size_t sent;            /* bytes of the stream that went out */
    bool is_exposed;        /* the peer may read the data: `exposure` is to be concealed */
    weft_exposure_t exposure;
    struct weft_send *next; /* in the endpoint's list of sends that wait for room */
} weft_send_t;

typedef struct weft_recv {
    weft_request_t request;   /* first */
    weft_recv_args_t args;    /* the type is retained while active, and while persistent */
    weft_match_entry_t entry; /* in the queue of receives while nothing has matched */
    bool is_queued;
    size_t capacity;      /* bytes that fit into the buffer */
    size_t message_bytes; /* of the matched message */
    size_t arrived;       /* bytes of the stream so far */
    int peer;             /* world rank that the matched message came from */
    bool is_streaming;    /* DATA may come */
    uint64_t sender;      /* the sender's request, while its window is being read */
    weft_fetch_t fetch;
} weft_recv_t;

/* A message that no receive has asked for yet. */
struct weft_message {
    weft_object_t object; /* first; its kind is set when a matched probe has taken the message */
    weft_match_entry_t entry; /* key.source is a world rank */
    weft_comm_t *comm;        /* of the probe */
    weft_ask_t ask;           /* an eager message: request is 0 */
    void *data;               /* [ask.bytes] NULL when the sender still has them */
    char room[128];           /* data points here when they fit */
};

typedef struct weft_pt2pt {
    weft_match_queue_t receives, messages;
    size_t messages_bytes; /* of data kept in `messages` */
    bool is_throttling;
    size_t active_sends; /* not complete */
    bool is_idle;        /* as of the last wefti_note_idle() */
    int lost_peers;
    char lost_text[384]; /* of the last that was lost */
} weft_pt2pt_t;

extern weft_pt2pt_t wefti_pt2pt;

/** To be called when a send has ended or a packet that waited is out. */
void wefti_note_idle(void);

/* send.c */
/** Send an answer (GO or DONE) about the sender's request; later when there is no room now. */
void wefti_send_answer(weft_endpoint_t *endpoint, uint8_t kind, uint64_t request, uint64_t own);
void wefti_send_go(int source, const weft_header_t *header, const void *payload);
/** The receiver has all data of a send. */
void wefti_send_taken(int source, const weft_header_t *header);
/** End all sends to a lost peer. */
void wefti_sends_lose(weft_endpoint_t *endpoint);
/** Does no packet wait for room? */
bool wefti_sends_are_out(void);
void wefti_sends_close(void);

/* recv.c */
int wefti_recv_create(const weft_recv_args_t *args, weft_recv_t **out);
/** A matched message: takes the data, or sees to it that they come. `data` NULL: not here. */
void wefti_recv_matched(weft_recv_t *recv, const weft_match_key_t *from, const weft_ask_t *ask,
                        const void *data);
void wefti_recv_data(int source, const weft_header_t *header, const void *payload);
/** End all receives that wait for a lost peer. */
void wefti_recvs_lose(int world_rank);
void wefti_recvs_close(void);

/* exchange.c */
void wefti_exchanges_close(void);

/* message.c */
void wefti_messages_close(void);
weft_message_t *wefti_message_take(weft_match_key_t key);
weft_message_t *wefti_message_peek(weft_match_key_t key);
void wefti_message_keep(const weft_match_key_t *key, const weft_ask_t *ask, const void *data);
/** Hand the message's data to a receive and free it. */
void wefti_message_deliver(weft_message_t *message, weft_recv_t *recv);

#endif
