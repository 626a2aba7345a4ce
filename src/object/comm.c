/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/comm.h"

#include "object/comm_events.h"
#include "object/info.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

#include <stdio.h>
#include <string.h>

weft_comm_t weft_comm_world = {.name = "MPI_COMM_WORLD"};
weft_comm_t weft_comm_self = {.name = "MPI_COMM_SELF"};
weft_comm_t weft_comm_job = {.name = "the processes of the job"};
weft_comm_t *weft_comm_users_world, *weft_comm_users_self;

static weft_pool_t comms = WEFT_POOL(weft_comm_t);

weft_context_set_t weft_contexts;

static struct {
    const char *name;
    void (*release)(weft_comm_t *comm, void *state);
} slots[WEFT_COMM_SLOTS];
static int slot_count;

enum { WORLD_CONTEXT = 0, SELF_CONTEXT = 2, JOB_CONTEXT = 4 };

MPI_Comm weft_comm_handle(const weft_comm_t *comm)
{
    if (comm == &weft_comm_world)
        return MPI_COMM_WORLD;
    return comm == &weft_comm_self ? MPI_COMM_SELF : (MPI_Comm)comm;
}

/* What weft_comm_of_context() looks for. */
typedef struct context_search {
    uint32_t context; /* even */
    const weft_comm_t *found;
} context_search_t;

static void match_context(void *object, void *context)
{
    weft_comm_t *comm = object;
    context_search_t *search = context;
    if (comm->object.kind == WEFT_KIND_COMM && comm->context == search->context)
        search->found = weft_comm_known(comm); /* a union has its intercommunicator's context */
}

const weft_comm_t *weft_comm_of_context(uint32_t context)
{
    context_search_t search = {.context = context & ~UINT32_C(1)};
    match_context(&weft_comm_world, &search);
    match_context(&weft_comm_self, &search);
    weft_pool_each(&comms, match_context, &search);
    return search.found;
}

static void set_peers(weft_comm_t *comm, weft_group_t *peers)
{
    comm->peers = peers;
    comm->processes = peers->processes;
    comm->size = peers->size;
}

static void fill_comm(weft_comm_t *comm, weft_group_t *group, uint32_t context)
{
    weft_object_init(&comm->object, WEFT_KIND_COMM);
    comm->context = context;
    comm->group = group;
    comm->rank = group->rank;
    comm->is_revoked = false;
    comm->acknowledged = 0;
    set_peers(comm, group);
}

static int open_self(void)
{
    int *self = NULL;
    if (weft_world.size > 1) {
        self = weft_alloc(sizeof(*self));
        if (self == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for MPI_COMM_SELF");
        *self = weft_processes.self;
    }
    weft_group_t *group;
    int err = weft_group_create(self, 1, &group);
    if (err == MPI_SUCCESS)
        fill_comm(&weft_comm_self, group, SELF_CONTEXT);
    return err;
}

int weft_comm_open(void)
{
    static const uint32_t contexts[] = {WORLD_CONTEXT, SELF_CONTEXT, JOB_CONTEXT};
    weft_group_t *group;
    int err = weft_group_create(NULL, weft_world.size, &group);
    for (int i = 0; err == MPI_SUCCESS && i < 3; i++)
        err = weft_context_set_add(&weft_contexts, contexts[i]);
    if (err != MPI_SUCCESS)
        return err;
    fill_comm(&weft_comm_world, group, WORLD_CONTEXT);
    weft_group_retain(group);
    fill_comm(&weft_comm_job, group, JOB_CONTEXT);
    weft_comm_job.errhandler = &weft_errors_return; /* that a new communicator begins with */
    return open_self();
}

int weft_comm_lend_world(void)
{
    weft_errhandler_t *handler;
    int err = weft_errhandler_initial(&handler);
    if (err != MPI_SUCCESS)
        return err;
    weft_comm_world.errhandler = weft_comm_self.errhandler = handler;
    weft_comm_world.has_own_errhandler = weft_comm_self.has_own_errhandler = false;
    weft_comm_users_world = &weft_comm_world;
    weft_comm_users_self = &weft_comm_self;
    return MPI_SUCCESS;
}

/* Errors after MPI_Finalize go to the initial error handler (MPI 5.0, 9.3), for which NULL stands.
 */
static void take_back(weft_comm_t *comm)
{
    if (comm->errhandler != NULL)
        weft_errhandler_release(comm->errhandler);
    comm->errhandler = NULL;
    weft_info_release(comm->info);
    comm->info = NULL;
    comm->is_host_only = false;
}

void weft_comm_take_world(void)
{
    weft_comm_users_world = weft_comm_users_self = NULL;
    take_back(&weft_comm_self);
    take_back(&weft_comm_world);
}

int weft_comm_create(weft_group_t *group, uint32_t context, const weft_comm_t *parent,
                     weft_comm_t **out)
{
    weft_comm_t *comm = weft_pool_take(&comms);
    if (comm == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a communicator of %d ranks", group->size);
    memset(comm, 0, sizeof(*comm));
    weft_group_retain(group);
    fill_comm(comm, group, context);
    comm->errhandler = parent->errhandler;
    weft_errhandler_retain(comm->errhandler);
    *out = comm;
    return MPI_SUCCESS;
}

int weft_comm_create_inter(weft_group_t *group, weft_group_t *remote, const weft_comm_t *parent,
                           weft_comm_t **out)
{
    weft_comm_t *comm;
    int err = weft_comm_create(group, WEFT_NO_CONTEXT, parent, &comm);
    if (err != MPI_SUCCESS)
        return err;
    weft_group_retain(remote);
    set_peers(comm, remote);
    *out = comm;
    return MPI_SUCCESS;
}

void weft_comm_unite(weft_comm_t *inter, weft_comm_t *both)
{
    inter->both = both;
    inter->context = both->context;
    both->inter = inter;
}

void weft_comm_set_errhandler(weft_comm_t *comm, weft_errhandler_t *handler)
{
    weft_errhandler_retain(handler);
    weft_errhandler_release(comm->errhandler);
    comm->errhandler = handler;
    comm->has_own_errhandler = true;
}

int weft_comm_slot_register(const char *name, void (*release)(weft_comm_t *comm, void *state))
{
    for (int i = 0; i < slot_count; i++) {
        if (strcmp(slots[i].name, name) == 0)
            return i;
    }
    if (slot_count == WEFT_COMM_SLOTS) {
        weft_fail(MPI_ERR_INTERN, "communicators have no slot for \"%s\": all %d are taken", name,
                  WEFT_COMM_SLOTS);
        return -1;
    }
    slots[slot_count].name = name;
    slots[slot_count].release = release;
    return slot_count++;
}

static void release_slots(weft_comm_t *comm)
{
    for (int i = 0; i < slot_count; i++) {
        void *state = comm->slot[i];
        comm->slot[i] = NULL;
        if (state != NULL)
            slots[i].release(comm, state);
    }
}

/* Collectives that are under way keep it, and with it the context. */
static void release_union(weft_comm_t *both)
{
    both->inter = NULL;
    weft_comm_release(both);
}

bool weft_comm_leaves_vci(weft_comm_t *comm)
{
    int vci = weft_vci_of(comm->context);
    bool has_entered = weft_vci_enter(vci);
    comm->is_forsaken = comm->vci_uses > 0;
    weft_vci_leave(vci, has_entered);
    return !comm->is_forsaken;
}

void weft_comm_end_last_vci_use(weft_comm_t *comm)
{
    bool is_held = comm->object.references > 0; /* by a call that reports its error */
    if (--comm->vci_uses == 0 && comm->is_forsaken && !is_held)
        weft_comm_destroy(comm);
}

void weft_comm_destroy(weft_comm_t *comm)
{
    weft_pvars_unbind(comm);
    if (comm->is_shown)
        WEFT_EVENT(weft_comm_freed_event, NULL, .handle = (uintptr_t)weft_comm_handle(comm));
    weft_events_unbind(comm);
    comm->object.kind = WEFT_FREED;
    release_slots(comm);
    weft_topology_release(comm->topology);
    weft_info_release(comm->info);
    if (comm->errhandler != NULL)
        weft_errhandler_release(comm->errhandler);
    comm->errhandler = NULL;
    weft_group_release(comm->group);
    if (weft_comm_is_inter(comm))
        weft_group_release(comm->peers);
    /* Messages of a revoked one may still be on their way: its context is never used again. */
    if (comm->both != NULL)
        release_union(comm->both);
    else if (comm->context != WEFT_NO_CONTEXT && !comm->is_revoked)
        weft_context_set_remove(&weft_contexts, comm->context);
    if (comm != &weft_comm_world && comm != &weft_comm_self && comm != &weft_comm_job)
        weft_pool_give(&comms, comm);
}

static void close_lasting(weft_comm_t *comm)
{
    weft_comm_release(comm);
    comm->topology = NULL;
    comm->info = NULL;
}

void weft_comm_close(void)
{
    weft_comm_take_world();
    close_lasting(&weft_comm_self);
    close_lasting(&weft_comm_job);
    close_lasting(&weft_comm_world);
    weft_pool_close(&comms);
    weft_context_set_clear(&weft_contexts);
}
