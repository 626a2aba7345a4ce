/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub: a server in the process of rank 0, through which ranks without a launcher find each
 * other. It runs in a thread, from the start of rank 0 until all ranks have ended MPI, and every
 * rank, rank 0 too, is connected to it.
 *
 *   rank 1                                    hub, in rank 0
 *     | connect                                | listens at MASTER_PORT, or where a store says
 *     | <---- handshake (base/handshake.h) --> |
 *     | ---- JOIN: which host, process ------> | waits for the other ranks
 *     | <---- JOINED: id, hosts of all ------- | stops listening
 *     | ---- PUT, GET, FENCE ----------------> |
 *     | <---- VALUE, ABSENT, FENCED ---------- |
 *     | ---- ABORT --------------------------> | tells all: ABORTED
 *     | ---- BYE ----------------------------> | closes; without BYE the rank is lost: ABORTED
 */
#ifndef WEFT_PMI_HUB_PRIVATE_H
#define WEFT_PMI_HUB_PRIVATE_H

#include "pmi/pmi.h"
#include "base/handshake.h"
#include "base/list.h"
#include "mpix.h"

#include <stdint.h>

/** What a process knows before the ranks have met. */
typedef struct weft_hub_plan {
    MPIX_Bootstrap self; /* rank, size, host; put and get: the store that says where the hub is */
    bool uses_store;
    const char *address, *port; /* where the hub or the store is; NULL: the program knows */
    /** Is a store there, and not the hub? Asked where the hub does not answer; NULL: never. */
    bool (*is_store)(const void *state);
    const char *job; /* what the ranks have in common, for WEFT_RANK_PROCESS; or NULL */
    uint8_t secret[WEFT_SECRET_BYTES]; /* if it uses no store */
    int opened;                        /* how often this process has begun to join, 1 at first */
    int64_t limit_ms;                  /* of weft_clock_ms(): when to give up */
} weft_hub_plan_t;

/** Join the job of a plan: the rank's `open`. *plan is copied; the texts stay the caller's until
 *  the hub is closed. Sets `opened`, `limit_ms`. */
int weft_hub_join(const weft_hub_plan_t *plan, weft_pmi_job_t *out);

/** The calls of all bootstraps that use the hub. */
extern const struct weft_bootstrap_calls weft_hub_calls;

/** Derive the secret of a job from what its ranks have in their environment. */
void weft_hub_derive_secret(uint8_t out[WEFT_SECRET_BYTES]);

/* ---- frames ---- */

typedef enum hub_kind {
    HUB_JOIN = 1, /* number: process, key: identity of the host, data: its name */
    HUB_JOINED,   /* key: id of the job, data: int32_t[size], the host of each rank */
    HUB_REFUSED,  /* data: why */
    HUB_PUT,      /* key, data */
    HUB_GET,      /* number: limit in ms, key: "RANK/KEY" */
    HUB_VALUE,    /* data */
    HUB_ABSENT,
    HUB_FENCE, /* key: int32_t[], the ranks; empty: all */
    HUB_FENCED,
    HUB_REST,    /* number: 1: the rank may end without BYE; 0: no longer. From the hub: rank 0 */
    HUB_STARTED, /* the library has started in this rank; with WEFT_REJOIN */
    HUB_RESTED,  /* the hub knows, and so do the others if it is rank 0 */
    HUB_ABORT,   /* number: code, data: why */
    HUB_ABORTED, /* the same; key: int32_t, the host on which it has been printed, or none: -1 */
    HUB_BYE,     /* from the hub: it ends in order */
} hub_kind_t;

/** Numbers are in the order of little-endian machines on the wire. */
typedef struct hub_frame {
    hub_kind_t kind;
    int32_t number;
    const void *key, *data; /* [key_bytes], [data_bytes] */
    uint32_t key_bytes, data_bytes;
} hub_frame_t;

enum { HUB_KEY_MOST = 1 << 20, HUB_DATA_MOST = 64 << 20 };

/** One end of a connection; bytes that have arrived, and that are still to be sent. */
typedef struct hub_stream {
    int fd; /* does not block */
    uint8_t *in, *out;
    size_t in_from, in_to, in_room, out_from, out_to, out_room;
} hub_stream_t;

void wefti_hub_stream_close(hub_stream_t *stream);

/** Read what has arrived. false: the other end is gone, or there is no memory. */
bool wefti_hub_stream_read(hub_stream_t *stream);

/** The next frame that has arrived as a whole: 1; 0: none; -1: nonsense has arrived. Its key and
 *  data are valid until the next wefti_hub_stream_read(). */
int wefti_hub_stream_next(hub_stream_t *stream, hub_frame_t *out);

/** Add a frame to what is to be sent, and send what can be sent. false as above. */
bool wefti_hub_stream_send(hub_stream_t *stream, const hub_frame_t *frame);
bool wefti_hub_stream_flush(hub_stream_t *stream);
static inline bool wefti_hub_stream_is_flushed(const hub_stream_t *stream)
{
    return stream->out_from == stream->out_to;
}

/* ---- finding the hub ---- */

extern const char wefti_hub_protocol[WEFT_PROTOCOL_BYTES];

/** Who a rank says that it is, in the handshake; little-endian. */
typedef struct hub_introduction {
    uint32_t rank, size, opened;
} hub_introduction_t;

/** The verdict of the handshake. */
enum {
    HUB_WELCOME = 1,
    HUB_NOT_WELCOME, /* REFUSED follows */
    HUB_NOT_YET,     /* the hub is one of an earlier time: try again */
};

/** What identifies the memory that processes can share: the running kernel, the host's name,
 *  /dev/shm, the namespace of processes; and the name that the program gives, or NULL. */
void wefti_hub_identify_host(const char *given, char out[], size_t room);

/** Connect to one of the addresses of a name. */
bool wefti_hub_dial(const char *address, const char *port, int *fd_out);

/** Receive so many bytes, within some seconds. */
bool wefti_hub_receive(int fd, void *out, size_t bytes);

/** Rank 0: listen, at the address of the plan or, where a store says so, at all addresses of this
 *  host; then the store is told. May change plan->secret and uses_store. *fd_out is -1 where rank 0
 *  is alone. */
int wefti_hub_listen(weft_hub_plan_t *plan, int *fd_out);

/** The other ranks: connect to the hub, before the plan's limit. */
int wefti_hub_connect(weft_hub_plan_t *plan, int *fd_out);

/* ---- the server ---- */

/** Rank 0: serve, in a thread, until rank 0 says BYE and all others have left or rest.
 *  own_fd  the end of a pair of sockets whose other end rank 0 uses; both descriptors are taken
 *          over, also on failure */
int wefti_hub_start(const weft_hub_plan_t *plan, int listener, int own_fd);

/** Wait for the end of the thread. */
void wefti_hub_await_end(void);

/** Of a child after fork: close the server's descriptors. */
void wefti_hub_forget(void);

#endif
