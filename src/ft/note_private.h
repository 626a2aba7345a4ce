/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes: what ranks tell each other about failures. A note is a packet of its own kind, which needs
 * no communicator; the fields have the order of bytes of the machine, as all packets do.
 *
 * News that all members of a group are to hear (a failure, a revocation) are passed on by each that
 * hears them for the first time, in a small group to all others, in a large one to those whose
 * distance is a power of two, forwards and backwards (the binomial graph of "Failure detection and
 * propagation in HPC systems", Bosilca et al., SC 2016). Who has failed is passed over, so that the
 * next one that lives takes its place.
 */
#ifndef WEFT_FT_NOTE_PRIVATE_H
#define WEFT_FT_NOTE_PRIVATE_H

#include "object/comm.h"

#include <stdint.h>

typedef enum wefti_note_kind {
    WEFTI_NOTE_FAILED,  /* `rank` of MPI_COMM_WORLD has failed */
    WEFTI_NOTE_REVOKE,  /* a communicator is revoked */
    WEFTI_NOTE_STATE,   /* of an agreement (consensus.c), to the leader: what a member brings */
    WEFTI_NOTE_PROPOSE, /* from the leader: the value */
    WEFTI_NOTE_ACCEPT,  /* to the leader: the member keeps to it */
    WEFTI_NOTE_DECIDE,  /* from whoever knows: it is decided */
} wefti_note_kind_t;

typedef struct wefti_note {
    uint32_t kind;
    int32_t rank; /* of a failure; otherwise the sender's in the communicator */
    uint32_t context;
    uint32_t check;  /* of the members: wefti_check_of() */
    uint32_t number; /* of an agreement, counted by the communicator's members alike */
    int32_t size;    /* members */
    int32_t ballot;  /* whose proposal: the rank of a leader; -1: none */
    int32_t flag;
    int32_t is_new; /* there are failures that a member has not acknowledged */
    uint8_t sets[]; /* of an agreement: two sets of members, a bit each (consensus.c) */
} wefti_note_t;

/** A number made of the members, so that a communicator is not taken for an older one that had its
 * context. */
uint32_t wefti_check_of(const weft_group_t *group);

/** Send a note to all members of a group that have not failed, or to some who will pass it on. */
void wefti_spread(const weft_group_t *group, const wefti_note_t *note);

/** Call `visit` for each process that a news of this process goes to. */
void wefti_neighbours_each(const weft_group_t *group, void (*visit)(int process, void *context),
                           void *context);

void wefti_failure_is_told(int source, const wefti_note_t *note);
void wefti_revocation_is_told(const wefti_note_t *note);
void wefti_consensus_is_told(const wefti_note_t *note, size_t bytes);

/** A process has failed: agreements may wait for it. */
void wefti_consensus_lose(void);

void wefti_notes_open(void);
void wefti_notes_close(void);

#endif
