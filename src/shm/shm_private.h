/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the transport share: its peers, and its state. */
#ifndef WEFT_SHM_SHM_PRIVATE_H
#define WEFT_SHM_SHM_PRIVATE_H

#include "shm/channel.h"
#include "shm/path_choice.h"
#include "shm/segment.h"
#include "shm/shared_copy.h"
#include "base/least.h"
#include "base/own_symbol.h"

/* A peer: the endpoint that sends to it and the channel that comes from it. */
typedef struct weft_shm_peer {
    weft_endpoint_t endpoint; /* first: endpoint pointers are peer pointers */
    weft_cells_t cells;
    weft_channel_out_t out;
    bool is_contacted; /* it knows that we send */
    int process;
    /* endpoint.blocking_max if the last long packet between the two came from it: then it is likely
     * to wait for a blocking send, and copies the first part out while this rank fills the next */
    size_t answer_max;
    size_t unasked_max;  /* of messages of one packet, longer ones may be announced */
    size_t ring_most;    /* bytes of a message in several packets that goes unasked by the ring */
    unsigned unanswered; /* of these, sent since this rank has last read one of the peer's */
    weft_channel_in_t in;
    weft_rank_block_t *block;
    /* this rank's offers, as the receiver; NULL when oversubscribed: no core could help */
    weft_copy_job_t *offered;
    weft_copy_job_t *offers; /* the peer's offers, to this rank as the sender */
    weft_ring_loss_t loss;   /* while it sends through the small ring */
    bool is_enlarged;        /* it sends through a large ring by now, or has none */
    struct {
        int active;             /* on their way to this rank, which preferred them */
        weft_path_kind_t *kind; /* of the first one since there were none; NULL: of both ranks */
        weft_path_run_t run;    /* since then; */
        bool is_spoilt;         /* pages were touched meanwhile, so it does not count */
        uint32_t units_sent;    /* to the peer until then */
    } streams;
    bool is_leader; /* this rank chooses for both, where both send large messages; */
    bool is_mutual; /* the last one went the way that the leader shows */
    weft_short_pair_t short_messages;               /* that come from it */
    weft_short_wait_t short_sends;                  /* to it */
    weft_short_try_t short_tries[WEFT_SHORT_SIZES]; /* of them */
    weft_mutual_path_t mutual;                      /* the leader's */
    weft_endpoint_t *of_vcis[WEFT_VCIS];            /* endpoint.of_vcis, of a peer in VCI 0 */
} weft_shm_peer_t;

/* The peers in a VCI, each [local size]; of other VCIs than the first with its lock. */
typedef struct weft_shm_vci {
    weft_shm_peer_t *peers;
    weft_shm_peer_t **busy; /* those that have sent us something, in that order */
    int busy_count;
    int first;                     /* of these, in the last round; */
    bool has_left;                 /* packets were left in it */
    const atomic_ullong *contacts; /* of this rank */
    uint64_t known_contacts[64];   /* senders in `busy`, a bit each */
    unsigned skipped;              /* polls in a row; with the library's lock */
} weft_shm_vci_t;

typedef struct weft_shm {
    weft_segment_t segment;
    weft_sink_fn_t sink;
    weft_shm_vci_t vcis[WEFT_VCIS];
    weft_shm_peer_t *peers; /* in VCI 0 */
    weft_rank_block_t *own;
    int local_rank, contact_words;
    enum { LARGE_READ, LARGE_STREAM, LARGE_LEARNT } large_path; /* of large messages */
    enum { SHORT_UNASKED, SHORT_CROWDED, SHORT_READ, SHORT_LEARNT } short_path;
    weft_path_choice_t choice;
    weft_mutual_choice_t mutual_choice;
    weft_short_choice_t short_choice;
} weft_shm_t;

extern WEFT_OWN_SYMBOL weft_shm_t wefti_shm;

/** To be called when one of the three has changed. */
static inline void wefti_shm_see_at_once(weft_shm_peer_t *peer)
{
    size_t most = weft_least(peer->endpoint.blocking_max, peer->endpoint.eager_max);
    peer->endpoint.at_once_max = weft_least(most, peer->unasked_max);
}

static inline void wefti_shm_set_blocking_max(weft_shm_peer_t *peer, size_t most)
{
    peer->endpoint.blocking_max = most;
    wefti_shm_see_at_once(peer);
}

/* rounds.c */

/** Pages were touched, for which what comes from this peer had to wait: what is being measured
 * begins anew. */
void wefti_shm_restart_runs(weft_shm_peer_t *peer);

/** A round of progress: see weft_poll_fn_t. */
int wefti_shm_progress(bool everything);

/* shm.c */

/** The peer polls this rank from now on. */
void wefti_shm_make_contact(weft_shm_peer_t *peer);

/* paths.c */

/** The run of the mutual path is over (mutual_path.h). */
void wefti_shm_end_mutual_run(weft_shm_peer_t *peer);

/** Note that `ns` were lost for want of a large ring; the sender sees it. */
void wefti_shm_count_lost(const weft_shm_peer_t *peer, int64_t ns);

/** Which ways are open to messages, by the settings. To be called where ranks can read each other.
 */
void wefti_shm_open_paths(void);
/** From which size on messages to the peer may be announced; after wefti_shm_open_paths(). */
void wefti_shm_open_short(weft_shm_peer_t *peer);

extern const weft_remote_ops_t wefti_shm_remote;

#endif
