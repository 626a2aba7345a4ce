/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making communicators: the members agree on a context (context_agree.h), the only thing to agree
 * on.
 *
 *   dup, idup      all members of the old communicator
 *   split          those with one colour, after an allgather of (colour, key)
 *   create         the members of the group alone, with a parent or without
 *   topology       the first ranks of the old communicator
 *   intercomm      the members of two groups, of which each knows its own at first
 *
 * A member that cannot make its part takes part in the agreement all the same, and all fail
 * together.
 */
#ifndef WEFT_COMM_COMM_MAKE_H
#define WEFT_COMM_COMM_MAKE_H

#include "object/comm.h"
#include "object/request.h"
#include "runtime/hardware.h"

/** A copy of `comm`, of either kind, with its attributes (section 7.4.2) and topology, no hints,
 * one reference. Collective. Errors: those of a copy callback, MPI_ERR_NO_MEM, MPI_ERR_OTHER. */
int weft_comm_dup(weft_comm_t *comm, weft_comm_t **out);

/** As weft_comm_dup, but *out may be used only when the request is complete. */
int weft_comm_idup(weft_comm_t *comm, weft_comm_t **out, weft_request_t **request_out);

/** Free the requests of weft_comm_idup. */
void weft_comm_idups_close(void);

/** Who gets a communicator that is made while nobody waits for it. */
typedef struct weft_comm_taker {
    void (*take)(weft_comm_t *comm, void *owner); /* one reference becomes the taker's */
    void *owner;
} weft_comm_taker_t;

/** Begin to make a communicator of the members of `comm`, of either kind, that live, in their
 *  order; no attributes, hints or topology. The taker is called before the request completes, if
 *  that is without an error. Collective over the members that live, also when `comm` is revoked.
 *  MPI_ERR_NO_MEM; the request ends with MPI_ERR_NO_MEM or, when another member had none,
 *  MPI_ERR_OTHER. */
int weft_comm_shrink_begin(weft_comm_t *comm, const weft_comm_taker_t *taker, weft_request_t **out);
void weft_comm_shrinks_close(void);

/** One communicator for each colour, ordered by (key, rank in comm); NULL for colour MPI_UNDEFINED.
 *  Of an intercommunicator each part is one, too; NULL where a colour is in one group only.
 *  Collective over comm. */
int weft_comm_split(weft_comm_t *comm, int color, int key, weft_comm_t **out);

/** What the ranks of a part share: one of runtime/hardware.h, or one of these. */
enum {
    WEFT_LEVEL_HOST = -1,
    WEFT_LEVEL_UNGUIDED = -2, /* the largest thing that not all ranks share */
    WEFT_LEVEL_NONE = -3,     /* no part for this rank */
};

/** A communicator of the ranks that want the same and share one instance of it; NULL for a rank
 * that is bound to none. *level becomes what an unguided split has found, WEFT_LEVEL_NONE if all
 * ranks share everything. Collective over comm, of either kind. */
int weft_comm_split_by_level(weft_comm_t *comm, int *level, int key, weft_comm_t **out);

/** The largest tag that weft_comm_create_of keeps apart from all others. */
enum { WEFT_CREATE_TAG = 0x1fffffff };

/**
 * A communicator of `group`, a subset of comm's, of which the caller is a member. Collective over
 * the group alone.
 *
 * tag  distinguishes the calls of several threads at once; WEFT_CREATE_TAG: MPI_Comm_create
 */
int weft_comm_create_of(weft_comm_t *comm, weft_group_t *group, int tag, weft_comm_t **out);

/** What the leader of a group knows of the other leader. */
typedef struct weft_leader {
    weft_comm_t *peer; /* which has both of them */
    int remote_leader; /* in `peer` */
    int tag;           /* the same at both; tells apart the calls of several threads at once */
    int error;         /* if not MPI_SUCCESS, with a text of weft_fail: the rest is not valid, and
                        * the whole group fails */
} weft_leader_t;

/**
 * An intercommunicator of `local` and another group, with no member in common. Collective over
 * both. MPI_ERR_GROUP when they have one; errors of messages.
 *
 * leader_rank  the rank in `local` of its leader
 * leader       NULL at all others
 */
int weft_intercomm_create(weft_comm_t *local, int leader_rank, const weft_leader_t *leader,
                          weft_comm_t **out);

/** The same for a group without a communicator; its error handler is MPI_ERRORS_RETURN. `name` is
 * the same at both groups. The leader gives remote_leader, the process with that rank, and error.
 */
int weft_intercomm_create_named(weft_group_t *group, int leader_rank, const char *name,
                                weft_leader_t *leader, weft_comm_t **out);

/** Both groups as one, the one whose members say `is_high` behind the other. Collective over
 * `inter`. */
int weft_intercomm_merge(weft_comm_t *inter, bool is_high, weft_comm_t **out);

/**
 * A communicator of `group`, of which the caller is a member, and which may come from a session: it
 * has no parent. Collective over the group alone. Its error handler is MPI_ERRORS_RETURN.
 *
 * name  the string by which the members know it, MPI_Comm_create_from_group's stringtag
 */
int weft_comm_create_named(weft_group_t *group, const char *name, weft_comm_t **out);

/**
 * A communicator of the first `size` ranks of `comm`, in their order, with a topology; NULL at the
 * others. No attributes or hints. Collective over comm.
 *
 * topology  belongs to the communicator, or is released; NULL: this rank has no memory for it
 */
int weft_comm_attach_topology(weft_comm_t *comm, int size, weft_topology_t *topology,
                              weft_comm_t **out);

/** A communicator with a grid, of the first ranks of `comm`; where hosts and bindings allow it,
 * they are reordered so that neighbours are near (grid_placement.h). NULL at ranks beyond the grid.
 * As weft_comm_attach_topology(); also MPI_ERR_OTHER, if the launcher does not tell the hosts. */
int weft_comm_attach_grid(weft_comm_t *comm, const weft_cart_t *grid, weft_comm_t **out);

/** The rank that this rank would get there if ranks are reordered by hosts alone; MPI_UNDEFINED:
 * none. No communication. */
int weft_comm_place_in_grid(weft_comm_t *comm, const weft_cart_t *grid, int *rank_out);

/** As weft_comm_attach_grid(), with a graph that all ranks know (graph_placement.h). */
int weft_comm_attach_graph(weft_comm_t *comm, const weft_graph_t *graph, weft_comm_t **out);

/** As weft_comm_place_in_grid(). */
int weft_comm_place_in_graph(const weft_comm_t *comm, const weft_graph_t *graph, int *rank_out);

/**
 * A communicator with a distributed graph; where hosts and bindings allow it, its ranks are
 * reordered so that neighbours are near. Errors as of weft_comm_attach_grid().
 *
 * topology  the edges of the node that has this rank's number; as of weft_comm_attach_topology()
 */
int weft_comm_attach_edges(weft_comm_t *comm, weft_topology_t *topology, weft_comm_t **out);

/** Edges as one rank names them to MPI_Dist_graph_create, which may be any. */
typedef struct weft_named_edges {
    int count;                    /* of sources */
    const int *sources, *degrees; /* [count] */
    const int *destinations;      /* those of the first source, those of the second, ... */
    const int *weights;           /* as destinations; NULL: none, or there are no edges */
    bool is_weighted;             /* the graph, at all ranks alike */
} weft_named_edges_t;

/** The edges at this rank out of what all ranks name, in the order of these ranks. Collective over
 *  comm. MPI_ERR_NO_MEM, and errors of a collective. */
int weft_comm_gather_edges(weft_comm_t *comm, const weft_named_edges_t *named,
                           weft_topology_t **out);

#endif
