/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the members of a new communicator agree on its context, by messages: the votes of
 * context_vote.h go up a tree of the members, and what they come to goes down again. A rank,
 * written with digits of base 16, tells the rank that has 0 for its lowest digit that is not 0:
 *
 *   up     0x321 -> 0x320 -> 0x300 -> 0        down   the other way round
 *
 * Up to 16 members are a star: that few messages wait for each other matters more than how many
 * one member has, most of all where ranks share a processor and wait for their turns.
 *
 * It is a state machine, so that it goes on whatever the calling thread does: MPI_Comm_idup leaves
 * it to itself. Its messages are in the parent's collective context, with tags above those of
 * collectives. A creation has one tag for all its rounds, because a pair of members exchanges
 * messages in turn:
 *
 *   0x40000000 + the user's tag, folded          creations in which the members alone take part
 *   0x60000000 + number of the creation, folded  creations that all members of the parent count
 *
 * A creation without a parent has a context of its own for its messages, made of its name and its
 * members. There is no communicator that could be revoked, so that it ends at a member as soon as
 * that one knows that another has failed (creation_watch.h). Votes that come later stay where they
 * are: the next creation has other members, or another name, and so other messages.
 *
 * So several idups on one communicator, and other collectives, are under way at once in any order.
 */
#ifndef WEFT_COMM_CONTEXT_AGREE_H
#define WEFT_COMM_CONTEXT_AGREE_H

#include "comm/context_vote.h"
#include "comm/creation_watch.h"
#include "object/comm.h"
#include "object/request.h"

#include <stdbool.h>
#include <stdint.h>

/** The members of a new communicator. */
typedef struct weft_members {
    weft_comm_t *parent;
    int rank, size; /* in the new communicator */
    /* The rank in the parent of a rank in the new communicator; NULL: it is the same. */
    int (*rank_in_parent)(const void *map, int rank);
    const void *map;
} weft_members_t;

/** A creation, as all its members know it. */
typedef struct weft_creation {
    int tag;          /* of its messages */
    uint32_t context; /* of its messages */
    uint64_t seed;    /* of its contexts */
    uint32_t number;  /* of the creation, as its members count or name them */
    int vci;          /* of runtime/vci.h, for its messages */
    /* Where this member begins in the sequence of contexts; goes on when all have agreed. NULL: at
     * the beginning. */
    uint32_t *next_place;
    wefti_watched_t watched; /* what ends it at this member */
} weft_creation_t;

/** The next creation in which all members of `parent` take part, if only by counting it. */
weft_creation_t wefti_creation_next(weft_comm_t *parent);

/** The communicator is one of `group`, with no remote group: where its members are all on this
 *  host, it gets a VCI (runtime/vci.h), in turn. All members come to the same one. */
void wefti_creation_choose_vci(weft_creation_t *creation, const weft_group_t *group);

/** A creation in which the members alone take part. Two of them at once in one process have
 *  different tags, 0 to WEFT_CREATE_TAG; above, tags are folded. */
weft_creation_t wefti_creation_of(const weft_members_t *members, int tag);

/** The tag of the messages of wefti_creation_of(). */
int wefti_tag_of_group(int tag);

/** The members of `group`, processes of the own job, as ranks of weft_comm_job. */
weft_members_t wefti_members_of_job(const weft_group_t *group);

/**
 * A creation without a parent that has a context of its own: the members know it by its name alone.
 * Both the context and the tag of its messages are made of its name and of all its members, so that
 * two creations meet only if 59 bits of these agree.
 *
 * members  of wefti_members_of_job(group)
 * name     a hash of what the user calls it, or any other number that only these members have
 */
weft_creation_t wefti_creation_named(const weft_members_t *members, weft_group_t *group,
                                     uint64_t name);

/* A rank has at most 8 digits. */
enum { WEFTI_TREE_BASE = 16, WEFTI_TREE_CHILDREN = 8 * (WEFTI_TREE_BASE - 1) };

typedef struct weft_agreement weft_agreement_t;

/** Lives until it is over. */
struct weft_agreement {
    weft_comm_t *parent;
    int tag;
    uint32_t context;
    int above; /* rank in the parent; MPI_PROC_NULL: this is the root */
    int child_count;
    int children[WEFTI_TREE_CHILDREN]; /* ranks in the parent, the largest subtree first */
    weft_vote_t votes[WEFTI_TREE_CHILDREN];
    weft_request_t *heard[WEFTI_TREE_CHILDREN]; /* receives under way; NULL: none */
    weft_vote_t mine, told; /* this member's; the sum of its subtree's, on its way up */
    weft_vote_t result;     /* of all members */
    weft_proposal_t proposal;
    uint32_t *next_place;                      /* of the creation */
    void (*next)(weft_agreement_t *agreement); /* once `pending` is 0; NULL: it is over */
    int pending;                               /* messages under way */
    bool is_advancing;                         /* and the caller goes on with what there is to do */
    bool is_over;
    bool is_stopped; /* nothing is waited for any more */
    int error;
    char why[512];                                             /* the text of the error */
    void (*on_over)(weft_agreement_t *agreement, void *owner); /* NULL: nothing */
    void *owner;
};

/**
 * Begin to agree. The caller has set on_over and owner: on_over is called when it is over, maybe
 * before this returns, and may ask wefti_agreement_result() how it has ended.
 *
 * error  what has happened to this member before, with its text of weft_fail; if it is not
 *        MPI_SUCCESS, all members fail
 */
void wefti_agreement_begin(weft_agreement_t *agreement, const weft_members_t *members,
                           const weft_creation_t *creation, int error);

/** The class of an error that another member has had: with WEFT_RECOVERY nearly always that it, or
 *  one that it needed, has failed. */
int wefti_error_elsewhere(void);

/** Once it is over: the context, which the caller owns. The member's own error, that of a message,
 *  or MPI_ERR_OTHER when another member has failed; with a text of weft_fail. */
int wefti_agreement_result(const weft_agreement_t *agreement, uint32_t *context_out);

/** Begin, and wait until it is over; all members return. */
int wefti_agree(const weft_members_t *members, const weft_creation_t *creation, int error,
                uint32_t *context_out);

/**
 * Make a communicator of `group`, whose members all call this: wait until they have agreed, or have
 * failed together.
 *
 * group  NULL: the caller could not make it, and `error` is why
 */
int wefti_comm_make(const weft_members_t *members, const weft_creation_t *creation,
                    weft_group_t *group, int error, weft_comm_t **out);

#endif
