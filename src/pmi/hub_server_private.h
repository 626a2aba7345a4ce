/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of the hub's server. */
#ifndef WEFT_PMI_HUB_SERVER_PRIVATE_H
#define WEFT_PMI_HUB_SERVER_PRIVATE_H

#include "pmi/hub_private.h"

enum {
    WEFTI_NO_HOST = -1,
    WEFTI_HUB_PENDING_MOST = 256, /* and one for each rank */
};

/** A connection: of a rank, or pending while its other end has not proved which rank it is. */
typedef struct hub_client {
    hub_stream_t stream;
    int rank, host, process;
    char *identity, *hostname; /* set when it has joined */
    bool is_gone;              /* to be closed at the end of the round */
    bool has_left;             /* has said BYE */
    bool has_started;          /* with WEFT_REJOIN */
    bool rests;                /* may end without BYE */
    char *wanted;              /* the key that it waits for; NULL: none */
    int64_t wanted_until_ms;
    struct hub_fence *fence; /* in which it waits; NULL: in none */
    /* while pending: */
    weft_link_t link;
    weft_handshake_t handshake;
    size_t got; /* of the reply */
    int64_t since_ms;
} hub_client_t;

typedef struct wefti_hub {
    int size, listener; /* -1: all have joined */
    uint32_t opened;
    uint8_t secret[WEFT_SECRET_BYTES];
    hub_client_t **clients; /* [size] by rank; NULL: not connected */
    int *fds;               /* [size] of the clients, or -1: for a child after fork */
    weft_list_t pending;    /* oldest first */
    size_t pending_count;
    bool knows_users;      /* of connections from this host */
    hub_client_t **polled; /* of a round; NULL: the listener */
    struct pollfd *polls;
    int joined, started;
    bool is_complete;   /* all ranks have joined */
    bool is_over;       /* all are told that the job ends, */
    bool has_told_root; /* rank 0, too */
    bool may_end;       /* rank 0 has said BYE */
    bool is_deserted;   /* rank 0 has gone without BYE */
    int64_t limit_ms, end_ms;
    int end_code, end_host; /* why it is over */
    char end_text[512];
    char lost_text[512]; /* of a rank that is missed; "": none */
} wefti_hub_t;

extern wefti_hub_t wefti_hub;

void wefti_hub_tell(hub_client_t *client, const hub_frame_t *frame);

/** Tell all ranks that the job ends. host: where the reason has been printed, or WEFTI_NO_HOST */
void wefti_hub_end_job(int code, int host, const char *why);
void wefti_hub_lacks_memory(void);

/** Read and obey what a rank has sent; it may be gone afterwards. */
void wefti_hub_serve(hub_client_t *client);

/** From now on this is the connection of `rank`. */
void wefti_hub_enter(hub_client_t *client, int rank);

/* ---- hub_accept.c ---- */

/** One connection a round, so that those who wait are served. */
void wefti_hub_accept(void);

/** Read what a pending connection says of itself: it becomes that of a rank, or is closed. */
void wefti_hub_read_reply(hub_client_t *pending);
void wefti_hub_dismiss(hub_client_t *pending);

/** Close those that are too many or too old. */
void wefti_hub_limit_pending(void);
/** When the next one will be too old, in ms of weft_clock_ms(); INT64_MAX: there is none. */
int64_t wefti_hub_pending_limit(void);

/* ---- hub_values.c ---- */

bool wefti_hub_open_values(void);
void wefti_hub_release_values(void);

void wefti_hub_put(hub_client_t *client, const hub_frame_t *frame);
void wefti_hub_get(hub_client_t *client, const hub_frame_t *frame);
void wefti_hub_fence(hub_client_t *client, const hub_frame_t *frame);
/** With WEFT_RECOVERY the job goes on without a rank, but not when ranks wait for each other in
 * MPI_Init, now or later, or with WEFT_REJOIN one has not left it: then `why` ends it. */
bool wefti_hub_survives(const char *why);

/** When the next wait for a value ends, in ms of weft_clock_ms(); INT64_MAX: none. */
int64_t wefti_hub_next_limit(void);
/** End the waits whose time is over. */
void wefti_hub_end_waits(void);

#endif
