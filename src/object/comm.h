/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators (MPI 5.0 chapter 7).
 *
 * Each has two contexts, so that collectives never match the user's messages: `context` for
 * point-to-point and `context | 1` for collectives. The folders below src/mpi pass a weft_comm_t
 * on, not an MPI_Comm.
 *
 * An intercommunicator has a remote group, to whose ranks its messages go. Its collectives run on
 * its union, an intracommunicator of both groups that no handle names, with the same context.
 */
#ifndef WEFT_OBJECT_COMM_H
#define WEFT_OBJECT_COMM_H

#include "object/context_set.h"
#include "object/errhandler.h"
#include "object/group.h"
#include "object/object.h"
#include "object/topology.h"
#include "runtime/vci.h"
#include "runtime/world.h"
#include "base/own_symbol.h"
#include "mpi.h"

#include <stdbool.h>

typedef struct weft_comm weft_comm_t;
typedef struct weft_attributes weft_attributes_t;
typedef struct weft_info weft_info_t;

enum { WEFT_COMM_SLOTS = 8 };

struct weft_comm {
    weft_object_t object;
    uint32_t context;     /* even, and in weft_contexts; WEFT_NO_CONTEXT: not agreed on yet */
    int rank;             /* in the group */
    int size;             /* of the peers */
    const int *processes; /* of the peers; NULL: identity */
    bool is_revoked;      /* communication on it fails (src/ft) */
    int acknowledged;     /* so many of weft_failures the program has acknowledged here */
    weft_group_t *group;
    weft_group_t
        *peers;         /* whom messages go to: the group; of an intercommunicator the remote one */
    weft_comm_t *both;  /* the union of an intercommunicator; NULL: this is none */
    weft_comm_t *inter; /* of a union: the intercommunicator that it belongs to; NULL: none */
    weft_errhandler_t *errhandler;
    uint32_t coll_sequence;    /* of the next collective: its tag */
    uint32_t lasting_sequence; /* the same for persistent collectives */
    uint32_t coll_count;       /* meetings that collectives begun so far may hold on this host */
    uint32_t checked_calls;    /* of collectives: coll/call_check.h */
    uint32_t creations;        /* of communicators out of this one, counted by all members alike */
    bool has_own_errhandler;   /* the program has set it */
    bool is_shown;             /* the program has its handle */
    bool is_host_only;         /* the program has asserted that its buffers are host memory */
    /* With the lock of its VCI (runtime/vci.h), if that is not VCI 0: */
    int vci_uses;                /* that hold no reference */
    bool is_forsaken;            /* no reference is left, but some uses */
    void *slot[WEFT_COMM_SLOTS]; /* state of the layers above: weft_comm_slot_register() */
    weft_topology_t *topology;   /* NULL: none */
    weft_attributes_t *attributes;
    weft_info_t *info; /* hints; NULL: none */
    char name[MPI_MAX_OBJECT_NAME];
};

/** They are there while the library is in use, also by sessions alone: it uses them itself. */
extern weft_comm_t weft_comm_world, weft_comm_self;

/** All processes of the job, as the parent of communicators that have none (src/comm). No handle
 * names it. */
extern weft_comm_t weft_comm_job;

/** What MPI_COMM_WORLD and MPI_COMM_SELF stand for: NULL before MPI_Init and after MPI_Finalize,
 * even while a session is open (MPI 5.0 section 11.2). */
extern WEFT_OWN_SYMBOL weft_comm_t *weft_comm_users_world, *weft_comm_users_self;

/** NULL: not a live communicator (MPI_COMM_NULL included). */
static inline weft_comm_t *weft_comm_of(MPI_Comm handle)
{
    if (__builtin_expect(handle == MPI_COMM_WORLD, 1))
        return weft_comm_users_world;
    if (handle == MPI_COMM_SELF)
        return weft_comm_users_self;
    weft_comm_t *comm = (weft_comm_t *)handle;
    return weft_is_predefined(handle) || comm->object.kind != WEFT_KIND_COMM ? NULL : comm;
}

MPI_Comm weft_comm_handle(const weft_comm_t *comm);

/** The communicator whose messages, or collectives, have this context; NULL: it was freed. Looks at
 *  all communicators. */
const weft_comm_t *weft_comm_of_context(uint32_t context);

static inline bool weft_comm_is_inter(const weft_comm_t *comm)
{
    return comm->peers != comm->group;
}

/** All members: the communicator, or the union of an intercommunicator. */
static inline weft_comm_t *weft_comm_whole(weft_comm_t *comm)
{
    return comm->both != NULL ? comm->both : comm;
}

/** The one that the program knows: of a union the intercommunicator, if it is still there. */
static inline weft_comm_t *weft_comm_known(weft_comm_t *comm)
{
    return comm->inter != NULL ? comm->inter : comm;
}

/** Does the own group of an intercommunicator come first in its union? */
static inline bool weft_comm_comes_first(const weft_comm_t *inter)
{
    return inter->both->rank == inter->rank;
}

/** The rank in the union of a rank of the remote group. */
static inline int weft_comm_remote_in_union(const weft_comm_t *inter, int rank)
{
    return weft_comm_comes_first(inter) ? inter->group->size + rank : rank;
}

/** The process of a peer. */
static inline int weft_comm_process(const weft_comm_t *comm, int rank)
{
    return comm->processes == NULL ? rank : comm->processes[rank];
}

/** NULL, with a text of weft_fail, when the rank cannot be reached. */
static inline weft_endpoint_t *weft_comm_endpoint(const weft_comm_t *comm, int rank)
{
    return weft_process_endpoint(weft_comm_process(comm, rank));
}

/** Set up the communicators above from weft_world; MPI_ERR_NO_MEM. */
int weft_comm_open(void);

/** MPI_Init: give MPI_COMM_WORLD and MPI_COMM_SELF to the program, with the initial error handler.
 * MPI_ERR_ARG: there is no such handler. */
int weft_comm_lend_world(void);
/** MPI_Finalize: take them back. Attributes have been deleted before. */
void weft_comm_take_world(void);

/** The reverse of weft_comm_open; also frees communicators that the program has not freed. */
void weft_comm_close(void);

/** The contexts of this process's communicators, and those that are reserved for new ones. A
 * context says nothing of processes: communicators that have no member in common may have the
 * same. */
extern weft_context_set_t weft_contexts;

/**
 * A communicator of `group` (which gets a reference) with a context of weft_contexts, which it
 * owns, or without one yet (WEFT_NO_CONTEXT); error handler as `parent`'s; no attributes, hints or
 * name. One reference. MPI_ERR_NO_MEM.
 */
int weft_comm_create(weft_group_t *group, uint32_t context, const weft_comm_t *parent,
                     weft_comm_t **out);

/** The same for an intercommunicator, which can be used once it has a union. `remote` gets a
 * reference. */
int weft_comm_create_inter(weft_group_t *group, weft_group_t *remote, const weft_comm_t *parent,
                           weft_comm_t **out);

/** Give an intercommunicator its union, whose members are those of the group and the remote group,
 * one behind the other. The caller's reference becomes that of the intercommunicator. */
void weft_comm_unite(weft_comm_t *inter, weft_comm_t *both);

/** As the program wants it. `handler` gets a reference. */
void weft_comm_set_errhandler(weft_comm_t *comm, weft_errhandler_t *handler);

/** Free the communicator and all that belongs to it; for weft_comm_release() only. */
void weft_comm_destroy(weft_comm_t *comm) __attribute__((cold));

static inline bool weft_comm_has_vci(const weft_comm_t *comm)
{
    return __builtin_expect(weft_vci_of(comm->context) != 0, 0);
}

static inline void weft_comm_retain(weft_comm_t *comm)
{
    weft_object_retain(&comm->object);
}

/** Has the VCI of a communicator no use for it? If it has, the end of its last use destroys it. */
bool weft_comm_leaves_vci(weft_comm_t *comm);

/** The last release frees all that belongs to the communicator, its context too, except attributes,
 *  which MPI_Comm_free has deleted before. */
static inline void weft_comm_release(weft_comm_t *comm)
{
    if (weft_object_drop(&comm->object) && (!weft_comm_has_vci(comm) || weft_comm_leaves_vci(comm)))
        weft_comm_destroy(comm);
}

/** A use in its VCI, by its lock alone, begins. */
static inline void weft_comm_begin_vci_use(weft_comm_t *comm)
{
    comm->vci_uses++;
}

/** It ends. False: nothing was done, since the communicator is to be destroyed, which takes the
 *  library's lock, and weft_comm_end_last_vci_use(). */
static inline bool weft_comm_end_vci_use(weft_comm_t *comm)
{
    if (comm->vci_uses == 1 && comm->is_forsaken)
        return false;
    comm->vci_uses--;
    return true;
}

/** The same with the library's lock, in the VCI. */
void weft_comm_end_last_vci_use(weft_comm_t *comm);

/**
 * Reserve an element of weft_comm_t.slot for state that a layer above keeps with each communicator.
 * All are NULL in a new communicator. Called at start-up; may be called again.
 *
 * name     says whose state it is; one name has one slot
 * release  called when a communicator goes whose slot is not NULL, in the order of registration:
 *          it frees `state`, which is no longer in the slot. The rest of `comm` is still there.
 * returns  the index, the same for the same name; -1, with a text of weft_fail, if all are taken
 */
int weft_comm_slot_register(const char *name, void (*release)(weft_comm_t *comm, void *state));

#endif
