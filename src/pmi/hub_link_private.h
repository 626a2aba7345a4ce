/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's connection to the hub: bootstrap_hub.c asks, hub_link.c has the thread. */
#ifndef WEFT_PMI_HUB_LINK_PRIVATE_H
#define WEFT_PMI_HUB_LINK_PRIVATE_H

#include "pmi/hub_private.h"

/** What the hub replies: `key` and `data` from weft_alloc, with a zero behind their end. */
typedef struct wefti_hub_reply {
    hub_kind_t kind;
    int32_t number;
    char *key;
    void *data;
    uint32_t data_bytes;
} wefti_hub_reply_t;

void wefti_hub_reply_release(wefti_hub_reply_t *reply);

/** Take over a connected socket, on which the handshake is over. */
int wefti_hub_link_open(int fd);

/** What a rank prints when the job ends: each host says it once. */
typedef struct wefti_hub_speaker {
    int host;
    bool says_why; /* the hub's reason, unless it has been printed on this host */
    bool says_hub; /* that rank 0 has ended */
} wefti_hub_speaker_t;

/** From now on the process ends when the connection does. */
void wefti_hub_link_joined(wefti_hub_speaker_t speaker);

/** With WEFT_REJOIN: this rank has started, and can do without rank 0 from now on. */
void wefti_hub_link_started(void);

/** Has the connection ended? */
bool wefti_hub_link_is_cut(void);

/** The process may end in any way, or no longer. */
void wefti_hub_link_rest(bool rests);

/** From any thread, without a reply. false: the connection has ended. */
bool wefti_hub_link_send(const hub_frame_t *frame);

/** Send a question and wait for the reply, for limit_ms at most (negative: for ever). out: to be
 *  released on success. */
int wefti_hub_link_ask(const hub_frame_t *question, int64_t limit_ms, wefti_hub_reply_t *out);

/** Say goodbye, if in order, and wait until the hub has closed the connection. */
void wefti_hub_link_close(bool in_order);

#endif
