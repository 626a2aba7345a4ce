/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes: they look into the queue of messages that came before their receives. */
#include "pt2pt/dense.h"
#include "pt2pt/device_private.h"

#include "runtime/progress.h"

/* A probe that waits for any new message. */
typedef struct watcher {
    weft_recv_args_t asked; /* comm, context, source and tag of it */
    bool has_news;
    struct watcher *next;
} watcher_t;

static watcher_t *watchers;
static bool has_come; /* a message, since this was last set to false */
atomic_int wefti_probes_waiting;

void wefti_probes_wake(void)
{
    has_come = true;
    for (watcher_t *watcher = watchers; watcher != NULL; watcher = watcher->next)
        watcher->has_news = true;
    if (watchers != NULL)
        weft_progress_notify();
}

void wefti_probes_each(void (*visit)(const weft_recv_args_t *args, void *context), void *context)
{
    for (const watcher_t *watcher = watchers; watcher != NULL; watcher = watcher->next)
        visit(&watcher->asked, context);
}

static int source_of(const weft_probe_args_t *args)
{
    return args->source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE
                                          : weft_comm_process(args->comm, args->source);
}

/* Take a message out of the queue for the receive that will name it. */
static void reserve_message(weft_message_t *message, weft_comm_t *comm)
{
    weft_match_remove(wefti_messages_with(message), &message->entry);
    weft_object_init(&message->object, WEFT_KIND_MESSAGE);
    message->comm = comm;
    weft_comm_retain(comm);
}

static weft_message_t *look_in_vci(const weft_probe_args_t *args, MPI_Status *status)
{
    weft_message_t *message =
        wefti_message_peek((weft_match_key_t){args->comm->context, source_of(args), args->tag});
    if (message == NULL)
        return NULL;
    if (args->takes)
        reserve_message(message, args->comm);
    MPI_Status found = {.MPI_TAG = message->entry.key.tag};
    found.MPI_SOURCE = weft_group_rank_of(args->comm->peers, message->entry.key.source);
    weft_status_set_bytes(&found, message->rts.bytes);
    weft_status_copy(status, &found);
    return message;
}

static weft_message_t *look_for_message(const weft_probe_args_t *args, MPI_Status *status)
{
    int vci = weft_vci_of(args->comm->context);
    bool has_entered = weft_vci_enter(vci);
    weft_message_t *message = look_in_vci(args, status);
    weft_vci_leave(vci, has_entered);
    return message;
}

/* Can a message still come that is not there? */
static int check_hope(const weft_probe_args_t *args)
{
    return __builtin_expect(wefti_pt2pt.has_trouble, 0)
               ? wefti_check_source(args->comm, args->source)
               : MPI_SUCCESS;
}

/* *out is NULL if there is none. Messages are taken in one by one: those behind the one that is
 * found stay where their receives find them. */
static int look_with_progress(const weft_probe_args_t *args, weft_message_t **out,
                              MPI_Status *status)
{
    enum { MESSAGES_MOST = 32 };
    *out = look_for_message(args, status);
    has_come = true;
    for (int i = 0; *out == NULL && has_come && i < MESSAGES_MOST; i++) {
        has_come = false;
        weft_progress_test_for(&has_come);
        *out = look_for_message(args, status);
    }
    return *out != NULL ? MPI_SUCCESS : check_hope(args);
}

static void forget_message(const watcher_t *watcher)
{
    watcher_t **at = &watchers;
    while (*at != watcher)
        at = &(*at)->next;
    *at = watcher->next;
}

static int look_until_found(const weft_probe_args_t *args, weft_message_t **out, MPI_Status *status)
{
    watcher_t self = {.asked = {.comm = args->comm,
                                .context = args->comm->context,
                                .source = args->source,
                                .tag = args->tag},
                      .next = watchers};
    watchers = &self;
    atomic_fetch_add_explicit(&wefti_probes_waiting, 1, memory_order_relaxed);
    int err = MPI_SUCCESS;
    while ((*out = look_for_message(args, status)) == NULL && err == MPI_SUCCESS) {
        self.has_news = false;
        err = check_hope(args);
        if (err == MPI_SUCCESS)
            err = wefti_unsent_check(&self.asked);
        if (err == MPI_SUCCESS)
            weft_progress_until(&self.has_news);
    }
    forget_message(&self);
    atomic_fetch_sub_explicit(&wefti_probes_waiting, 1, memory_order_relaxed);
    return err;
}

int weft_iprobe(const weft_probe_args_t *args, bool *is_there_out, MPI_Status *status)
{
    weft_message_t *message;
    *is_there_out = weft_probe_slot(args->comm, args->source, args->tag, status);
    if (*is_there_out)
        return MPI_SUCCESS;
    int err = look_with_progress(args, &message, status);
    *is_there_out = message != NULL;
    return err;
}

int weft_probe(const weft_probe_args_t *args, MPI_Status *status)
{
    weft_message_t *message;
    if (weft_probe_slot(args->comm, args->source, args->tag, status))
        return MPI_SUCCESS;
    return look_until_found(args, &message, status);
}

int weft_improbe(const weft_probe_args_t *args, weft_message_t **out, MPI_Status *status)
{
    weft_probe_args_t taking = *args;
    taking.takes = true;
    return look_with_progress(&taking, out, status);
}

int weft_mprobe(const weft_probe_args_t *args, weft_message_t **out, MPI_Status *status)
{
    weft_probe_args_t taking = *args;
    taking.takes = true;
    return look_until_found(&taking, out, status);
}

weft_message_t *weft_message_of(MPI_Message handle)
{
    weft_message_t *message = (weft_message_t *)handle;
    return weft_is_predefined(handle) || message->object.kind != WEFT_KIND_MESSAGE ? NULL : message;
}

MPI_Message weft_message_handle(weft_message_t *message)
{
    return (MPI_Message)message;
}

weft_comm_t *weft_message_comm(const weft_message_t *message)
{
    return message->comm;
}

int weft_mrecv_begin(const weft_recv_args_t *args, weft_message_t *message, weft_request_t **out)
{
    weft_comm_t *comm = message->comm;
    weft_recv_args_t matched = *args;
    matched.comm = comm;
    matched.source = MPI_ANY_SOURCE;
    weft_recv_t *recv;
    int err = wefti_recv_create(&matched, &recv);
    if (err != MPI_SUCCESS)
        return err;
    if (wefti_receives_device(&matched) && wefti_device_recv_begin(recv) != MPI_SUCCESS) {
        weft_request_release(&recv->request);
        return MPI_ERR_NO_MEM;
    }
    *out = &recv->request;
    int vci = weft_vci_of(message->entry.key.context);
    bool has_entered = weft_vci_enter(vci);
    wefti_message_deliver(message, recv);
    weft_vci_leave(vci, has_entered);
    weft_comm_release(comm);
    return MPI_SUCCESS;
}
