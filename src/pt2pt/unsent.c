/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives, and probes, that wait for messages which will never be sent: the ranks that could send
 * them have called MPI_Finalize. The looks of unreceived.c find this out. A rank that had come to
 * WEFT_ENDS at one look has nothing on its way any more at the next one, before which this process
 * has taken all that there was; so what still waits then waits for ever.
 *
 * A program may leave a receive of this kind alone, or cancel it. Therefore only those end that the
 * calling thread waits for, and that no other thread can cancel.
 */
#include "pt2pt/device_private.h"

#include "base/fail.h"
#include "mpi.h"

#include <stdio.h>

enum { LOOKS = 2, REACHED_MOST = 64 };

/* ---- whom it waits for ---- */

/* A rank that has called MPI_Finalize may still join a communicator of sessions. */
static bool may_end(const weft_recv_args_t *args)
{
    return args->comm != &weft_comm_job && args->source != MPI_PROC_NULL;
}

static bool is_of_collective(const weft_recv_args_t *args)
{
    return (args->context & 1) != 0;
}

/* The messages of partitions have negative tags: their sends may not have begun. */
static bool is_awaited(const weft_recv_t *recv, const bool *flag)
{
    const weft_request_t *request = &recv->request;
    if (!may_end(&recv->args))
        return false;
    if (is_of_collective(&recv->args))
        return recv->args.tag >= 0;
    if (!recv->is_blocking && weft_world.has_many_callers)
        return false;
    return flag == &request->is_complete || wefti_exchange_waits(request, flag);
}

/* Call `visit` for each process that the message may come from: itself counts only if it is named.
 * False: this process may still send it to itself. */
static bool each_source(const weft_recv_args_t *args, void (*visit)(int process, void *context),
                        void *context)
{
    if (args->source != MPI_ANY_SOURCE) {
        visit(weft_comm_process(args->comm, args->source), context);
        return true;
    }
    for (int rank = 0; rank < args->comm->size; rank++) {
        int process = weft_comm_process(args->comm, rank);
        if (process != weft_processes.self)
            visit(process, context);
    }
    return !weft_world.has_many_callers && wefti_sends_are_announced();
}

/* ---- marking ---- */

typedef struct marked {
    int may_reach; /* so many more that this process has never talked to */
    int going_on;  /* had not come to WEFT_ENDS at two looks */
} marked_t;

static void mark_source(int process, void *context)
{
    marked_t *marked = context;
    weft_endpoint_t *endpoint = weft_process_reached(process);
    if (endpoint == NULL && marked->may_reach > 0 && weft_world.is_published != NULL &&
        weft_world.is_published(process)) {
        marked->may_reach--;
        endpoint = weft_process_endpoint(process);
    }
    if (endpoint == NULL)
        return;
    wefti_sends_to(endpoint)->is_awaited = true;
    marked->going_on += wefti_sends_to(endpoint)->had_ended < LOOKS;
}

/* Where any rank may send, those that have never done so are asked when all others have ended. */
static void mark_sources(const weft_recv_args_t *args, void *unused)
{
    marked_t marked = {.may_reach = args->source == MPI_ANY_SOURCE ? 0 : 1};
    (void)unused;
    if (!may_end(args))
        return;
    each_source(args, mark_source, &marked);
    if (args->source != MPI_ANY_SOURCE || marked.going_on > 0)
        return;
    marked.may_reach = REACHED_MOST;
    each_source(args, mark_source, &marked);
}

static const weft_recv_t *recv_at(const weft_link_t *at)
{
    return WEFT_ELEMENT(at, weft_recv_t, entry.order);
}

static void mark_in_vci(int vci, const bool *flag)
{
    const weft_list_t *order = &wefti_pt2pt.vcis[vci].receives.order;
    bool has_entered = weft_vci_enter(vci);
    for (weft_link_t *at = order->next; at != order; at = at->next) {
        if (is_awaited(recv_at(at), flag))
            mark_sources(&recv_at(at)->args, NULL);
    }
    weft_vci_leave(vci, has_entered);
}

void wefti_unsent_mark(const bool *flag)
{
    for (int vci = 0; vci < weft_world.vcis; vci++)
        mark_in_vci(vci, flag);
    wefti_probes_each(mark_sources, NULL);
}

/* ---- ending ---- */

typedef struct source_count {
    int sources, ended;
} source_count_t;

static void count_ended(int process, void *context)
{
    source_count_t *count = context;
    weft_endpoint_t *endpoint = weft_process_reached(process);
    count->sources++;
    count->ended += endpoint != NULL && wefti_sends_to(endpoint)->had_ended >= LOOKS;
}

/* " with tag 5", or nothing */
static void describe_tag(const weft_recv_args_t *args, char *out, size_t room)
{
    if (is_of_collective(args) || args->tag == MPI_ANY_TAG)
        out[0] = '\0';
    else
        snprintf(out, room, " with tag %d", args->tag);
}

/* " (rank 7 in MPI_COMM_WORLD)", or nothing */
static void describe_world_rank(const weft_recv_args_t *args, char *out, size_t room)
{
    int world_rank = weft_process_rank(weft_comm_process(args->comm, args->source));
    if (world_rank == args->source)
        out[0] = '\0';
    else
        snprintf(out, room, " (rank %d in MPI_COMM_WORLD)", world_rank);
}

static int fail_unsent(const weft_recv_args_t *args)
{
    char tag[40], world_rank[48];
    bool is_of_session = args->comm->group->session != NULL;
    const char *end = is_of_session ? "ended its last session" : "called MPI_Finalize";
    const char *kind = is_of_collective(args) ? "message of a collective operation" : "message";
    const weft_comm_t *comm = weft_comm_known(args->comm);
    const char *name = comm->name[0] != '\0' ? comm->name : "a communicator";
    describe_tag(args, tag, sizeof(tag));
    if (args->source == MPI_ANY_SOURCE)
        return weft_fail(MPI_ERR_OTHER,
                         "no %s%s from any rank of %s will ever come: all of them have %s", kind,
                         tag, name, end);
    describe_world_rank(args, world_rank, sizeof(world_rank));
    return weft_fail(MPI_ERR_OTHER, "no %s%s from rank %d of %s%s will ever come: that rank has %s",
                     kind, tag, args->source, name, world_rank, end);
}

int wefti_unsent_check(const weft_recv_args_t *args)
{
    source_count_t count = {0};
    if (__builtin_expect(!wefti_pt2pt.have_ended, 1) || !may_end(args) ||
        !each_source(args, count_ended, &count))
        return MPI_SUCCESS;
    return count.sources > 0 && count.ended == count.sources ? fail_unsent(args) : MPI_SUCCESS;
}

/* End the first; false: there is none. */
static bool end_one(int vci, const bool *flag)
{
    const weft_list_t *order = &wefti_pt2pt.vcis[vci].receives.order;
    for (weft_link_t *at = order->next; at != order; at = at->next) {
        weft_recv_t *recv = (weft_recv_t *)recv_at(at);
        int error = is_awaited(recv, flag) ? wefti_unsent_check(&recv->args) : MPI_SUCCESS;
        if (error == MPI_SUCCESS)
            continue;
        wefti_recv_end_queued(recv, error);
        return true;
    }
    return false;
}

/* What ends may begin or cancel others, so each search begins at the front. */
void wefti_unsent_end(const bool *flag)
{
    if (!wefti_pt2pt.have_ended)
        return;
    for (int vci = 0; vci < weft_world.vcis; vci++) {
        bool has_entered = weft_vci_enter(vci);
        while (end_one(vci, flag))
            ;
        weft_vci_leave(vci, has_entered);
    }
    wefti_probes_wake();
}
