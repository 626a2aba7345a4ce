/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* twalk_r, tdestroy */
#include "mpi/leaks.h"

#include "mpi/check.h"
#include "pt2pt/pt2pt.h"
#include "object/request.h"
#include "base/log.h"
#include "base/memory.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the program has ---- */

/* A handle that the program has, in a tree by address. */
typedef struct held {
    const void *handle;
    const char *function; /* that gave it first */
    weft_kind_t kind;
    int times; /* how often it was given and not taken back */
} held_t;

static void *held_tree; /* of tsearch() */

static int compare_held(const void *a, const void *b)
{
    const held_t *first = a, *second = b;
    return (first->handle > second->handle) - (first->handle < second->handle);
}

/* Without memory for it the list is shorter. */
static held_t *add_held(const void *handle)
{
    held_t *held = weft_alloc_zeroed(1, sizeof(*held));
    if (held == NULL)
        return NULL;
    held->handle = handle;
    held_t **place = tsearch(held, &held_tree, compare_held);
    if (place == NULL) {
        weft_free(held);
        return NULL;
    }
    return *place;
}

static held_t *find_held(const void *handle)
{
    held_t **place = tfind(&(held_t){.handle = handle}, &held_tree, compare_held);
    return place == NULL ? NULL : *place;
}

void weft_leaks_note(weft_kind_t kind, const void *handle, const char *function)
{
    if (weft_is_predefined(handle) || handle == &weft_request_done)
        return;
    held_t *held = find_held(handle);
    if (held == NULL)
        held = add_held(handle);
    if (held == NULL)
        return;
    if (held->kind != kind || kind == WEFT_KIND_REQUEST) /* of what had this address before */
        held->times = 0;
    if (held->times++ == 0)
        held->function = function;
    held->kind = kind;
}

void weft_leaks_forget(const void *handle)
{
    held_t *held = find_held(handle);
    if (held == NULL || --held->times > 0)
        return;
    tdelete(held, &held_tree, compare_held);
    weft_free(held);
}

void weft_leaks_close(void)
{
    tdestroy(held_tree, weft_free);
    held_tree = NULL;
}

/* ---- counting what is left ---- */

typedef struct tally_share {
    const char *function;
    int times;
} tally_share_t;

/* How many handles of a kind, by the functions that gave them. */
enum { FUNCTIONS_MAX = 16 };
typedef struct tally {
    weft_kind_t kind;
    int total, functions;
    tally_share_t by[FUNCTIONS_MAX]; /* the functions beyond these are in the total only */
} tally_t;

/* Requests are not forgotten when they end: is it over, or used by the library now? */
static bool is_request_over(const held_t *held)
{
    const weft_request_t *request = held->handle;
    return held->kind == WEFT_KIND_REQUEST &&
           (request->object.kind != WEFT_KIND_REQUEST || request->is_detached ||
            request->on_complete != NULL);
}

static void count_held(const void *node, VISIT visit, void *context)
{
    const held_t *held = *(held_t *const *)node;
    tally_t *tally = context;
    if ((visit != postorder && visit != leaf) || held->kind != tally->kind || is_request_over(held))
        return;
    tally->total += held->times;
    int i = 0;
    while (i < tally->functions && tally->by[i].function != held->function)
        i++;
    if (i == FUNCTIONS_MAX)
        return;
    if (i == tally->functions)
        tally->by[tally->functions++].function = held->function;
    tally->by[i].times += held->times;
}

static int compare_shares(const void *a, const void *b)
{
    const tally_share_t *first = a, *second = b;
    return strcmp(first->function, second->function);
}

static void list_kind(weft_kind_t kind, const char *what, const char *must)
{
    char text[640];
    tally_t tally = {.kind = kind};
    twalk_r(held_tree, count_held, &tally);
    if (tally.total == 0)
        return;
    qsort(tally.by, (size_t)tally.functions, sizeof(tally.by[0]), compare_shares);
    size_t used = 0;
    for (int i = 0; i < tally.functions && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %d of %s", i == 0 ? "" : ",",
                                 tally.by[i].times, tally.by[i].function);
    WEFT_LOG(WEFT_WARN, "leaks", "%d %s%s never %s:%s", tally.total, what,
             tally.total == 1 ? " was" : "s were", must, text);
}

/* ---- messages that nobody has received ---- */

/* Messages of one sender, tag and communicator. */
enum { SENDERS_MAX = 8 };
typedef struct unclaimed {
    weft_waiting_message_t first;
    int count;
} unclaimed_t;

typedef struct unclaimed_list {
    int total, length;
    unclaimed_t at[SENDERS_MAX]; /* what comes after these is in the total only */
} unclaimed_list_t;

static void count_message(const weft_waiting_message_t *message, void *context)
{
    unclaimed_list_t *list = context;
    int i = 0;
    while (i < list->length &&
           (list->at[i].first.context != message->context ||
            list->at[i].first.process != message->process || list->at[i].first.tag != message->tag))
        i++;
    list->total++;
    if (i == SENDERS_MAX)
        return;
    if (i == list->length)
        list->at[list->length++] = (unclaimed_t){.first = *message};
    list->at[i].count++;
}

/* " 2 from rank 1 of MPI_COMM_WORLD with tag 7 (8 bytes)" */
static int describe_unclaimed(const unclaimed_t *messages, char *out, size_t room)
{
    const weft_waiting_message_t *first = &messages->first;
    const weft_comm_t *comm = weft_comm_of_context(first->context);
    const char *name = comm == NULL ? "a communicator that was freed" : weft_comm_label(comm);
    if (comm == NULL || (first->context & 1) != 0)
        return snprintf(out, room, " %d%s on %s from rank %d of MPI_COMM_WORLD", messages->count,
                        (first->context & 1) != 0 ? " of a collective" : "", name,
                        weft_process_rank(first->process));
    return snprintf(out, room, " %d from rank %d of %s with tag %d (%zu bytes%s)", messages->count,
                    weft_group_rank_of(comm->peers, first->process), name, first->tag, first->bytes,
                    messages->count == 1 ? "" : " the first");
}

static void list_messages(void)
{
    char text[1024];
    unclaimed_list_t list = {0};
    weft_pt2pt_waiting_each(count_message, &list);
    if (list.total == 0)
        return;
    size_t used = 0;
    for (int i = 0; i < list.length && used + 1 < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", i == 0 ? "" : ",");
        used += (size_t)describe_unclaimed(&list.at[i], text + used, sizeof(text) - used);
    }
    WEFT_LOG(WEFT_WARN, "leaks", "%d message%s never received:%s", list.total,
             list.total == 1 ? " was" : "s were", text);
}

/* ---- the end ---- */

/* Messages of a pair arrive in order, so when each rank has heard from each, all that was sent
 * before is here. */
static int hear_from_all(void)
{
    enum { LAST_TAG = 0x3ffffffe }; /* no collective has it */
    weft_comm_t *comm = &weft_comm_world;
    weft_send_args_t send = {.type = weft_type_of(MPI_BYTE),
                             .comm = comm,
                             .context = comm->context | 1,
                             .tag = LAST_TAG,
                             .where = WEFT_WHERE_HOST};
    weft_recv_args_t recv = {.type = send.type,
                             .comm = comm,
                             .context = send.context,
                             .tag = LAST_TAG,
                             .where = WEFT_WHERE_HOST};
    int err = MPI_SUCCESS;
    for (int i = 1; i < comm->size && err == MPI_SUCCESS; i++) {
        send.dest = (comm->rank + i) % comm->size;
        recv.source = (comm->rank - i + comm->size) % comm->size;
        err = weft_sendrecv(&send, &recv, false, MPI_STATUS_IGNORE);
    }
    return err;
}

static void list_handles(void)
{
    list_kind(WEFT_KIND_COMM, "communicator", "freed");
    list_kind(WEFT_KIND_GROUP, "group", "freed");
    list_kind(WEFT_KIND_TYPE, "datatype", "freed");
    list_kind(WEFT_KIND_OP, "operation", "freed");
    list_kind(WEFT_KIND_REQUEST, "request", "completed or freed");
    list_kind(WEFT_KIND_MESSAGE, "matched message", "received");
}

void weft_leaks_list(bool is_end)
{
    if (!weft_checks_leaks())
        return;
    bool is_all_here = hear_from_all() == MPI_SUCCESS;
    if (!is_end)
        return;
    list_handles();
    if (is_all_here)
        list_messages();
}
