/* SPDX-License-Identifier: BSD-3-Clause */
/* The hub's thread: ranks that have joined, the meeting of all, the end. What belongs to it is
 * touched by no other thread while it runs. */
#include "pmi/hub_server_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/file_limit.h"
#include "base/memory.h"
#include "base/peer_user.h"
#include "base/random.h"
#include "base/thread.h"
#include "mpi.h"

#include <endian.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAREWELL_MS = 1000, /* in which the last frames are to go out */
    STACK_BYTES = 512 * 1024,
};

wefti_hub_t wefti_hub = {.listener = -1};

static pthread_t thread;

/* ---- telling the ranks ---- */

void wefti_hub_tell(hub_client_t *client, const hub_frame_t *frame)
{
    if (!wefti_hub_stream_send(&client->stream, frame))
        client->is_gone = true;
}

/* Rank 0 last. */
static void tell_all(const hub_frame_t *frame)
{
    for (int rank = wefti_hub.size - 1; rank >= 0; rank--) {
        hub_client_t *client = wefti_hub.clients[rank];
        if (client != NULL && !client->is_gone)
            wefti_hub_tell(client, frame);
    }
}

static void tell_end(hub_client_t *client)
{
    int32_t printed_on = (int32_t)htole32((uint32_t)wefti_hub.end_host);
    if (client == NULL || client->is_gone)
        return;
    wefti_hub_tell(client, &(hub_frame_t){.kind = wefti_hub.is_complete ? HUB_ABORTED : HUB_REFUSED,
                                          .number = wefti_hub.end_code,
                                          .key = &printed_on,
                                          .key_bytes = sizeof(printed_on),
                                          .data = wefti_hub.end_text,
                                          .data_bytes = (uint32_t)strlen(wefti_hub.end_text)});
}

/* Rank 0 is told when the others have closed: its process may end at once, and this thread with
 * it. */
void wefti_hub_end_job(int code, int host, const char *why)
{
    if (wefti_hub.is_over)
        return;
    wefti_hub.is_over = true;
    wefti_hub.end_ms = weft_clock_ms() + FAREWELL_MS;
    wefti_hub.end_code = code;
    wefti_hub.end_host = host;
    snprintf(wefti_hub.end_text, sizeof(wefti_hub.end_text), "%s", why);
    for (int rank = 1; rank < wefti_hub.size; rank++)
        tell_end(wefti_hub.clients[rank]);
}

static const char missing_memory[] = "rank 0 has no memory for the start-up data of the ranks";

void wefti_hub_lacks_memory(void)
{
    wefti_hub_end_job(1, WEFTI_NO_HOST, missing_memory);
}

/* ---- all have come ---- */

static int compare_hosts(const void *a, const void *b)
{
    const hub_client_t *x = *(hub_client_t *const *)a, *y = *(hub_client_t *const *)b;
    return strcmp(x->identity, y->identity);
}

/* Number the hosts; the numbers are in the order of the wire. */
static bool number_hosts(int32_t host_of[])
{
    hub_client_t **sorted = weft_alloc_array((size_t)wefti_hub.size, sizeof(*sorted));
    if (sorted == NULL)
        return false;
    memcpy(sorted, wefti_hub.clients, (size_t)wefti_hub.size * sizeof(*sorted));
    qsort(sorted, (size_t)wefti_hub.size, sizeof(*sorted), compare_hosts);
    int host = 0;
    for (int i = 0; i < wefti_hub.size; i++) {
        host += i > 0 && compare_hosts(&sorted[i - 1], &sorted[i]) != 0;
        sorted[i]->host = host;
        host_of[sorted[i]->rank] = (int32_t)htole32((uint32_t)host);
    }
    weft_free(sorted);
    return true;
}

static void close_listener(void)
{
    while (wefti_hub.pending_count > 0)
        wefti_hub_dismiss(WEFT_ELEMENT(wefti_hub.pending.next, hub_client_t, link));
    if (wefti_hub.listener >= 0)
        close(wefti_hub.listener);
    wefti_hub.listener = -1;
}

/* The name of the job must not begin as that of a job of Weft's mpirun, but where this is one: then
 * mpirun removes what has such a name in /dev/shm (base/rank_note.h). */
static int name_job(uint64_t number, char *out, size_t room)
{
    const char *notes = weft_config.REJOIN ? weft_environment("WEFT_NOTES") : NULL;
    const char *colon = notes == NULL ? NULL : strrchr(notes, ':');
    return snprintf(out, room, "%.64s%s%016llx", colon == NULL ? "hub" : colon + 1,
                    colon == NULL ? "-" : ".", (unsigned long long)number);
}

static void begin_job(void)
{
    uint64_t number;
    char id[96];
    int32_t *host_of = weft_alloc_array((size_t)wefti_hub.size, sizeof(*host_of));
    if (host_of == NULL || !number_hosts(host_of) ||
        weft_random(&number, sizeof(number)) != MPI_SUCCESS) {
        weft_free(host_of);
        wefti_hub_lacks_memory();
        return;
    }
    close_listener();
    wefti_hub.is_complete = true;
    int length = name_job(number, id, sizeof(id));
    tell_all(&(hub_frame_t){.kind = HUB_JOINED,
                            .key = id,
                            .key_bytes = (uint32_t)length,
                            .data = host_of,
                            .data_bytes = (uint32_t)wefti_hub.size * (uint32_t)sizeof(*host_of)});
    weft_free(host_of);
}

static char *text_of(const void *data, uint32_t bytes)
{
    char *text = weft_alloc((size_t)bytes + 1);
    if (text == NULL)
        return NULL;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

static void take_join(hub_client_t *client, const hub_frame_t *frame)
{
    if (client->identity != NULL)
        return;
    client->process = frame->number;
    client->identity = text_of(frame->key, frame->key_bytes);
    client->hostname = text_of(frame->data, frame->data_bytes);
    if (client->identity == NULL || client->hostname == NULL)
        wefti_hub_lacks_memory();
    else if (++wefti_hub.joined == wefti_hub.size)
        begin_job();
}

/* "2, 5 and 7"; with many the rest is counted */
static void list_missing(char *out, size_t room)
{
    enum { NAMED_MOST = 16 };
    int missing = 0, named = 0;
    size_t used = 0;
    for (int rank = 0; rank < wefti_hub.size; rank++)
        missing += wefti_hub.clients[rank] == NULL || wefti_hub.clients[rank]->identity == NULL;
    out[0] = '\0';
    for (int rank = 0; rank < wefti_hub.size && named < NAMED_MOST; rank++) {
        if (wefti_hub.clients[rank] != NULL && wefti_hub.clients[rank]->identity != NULL)
            continue;
        const char *between = named == 0 ? "" : named + 1 == missing ? " and " : ", ";
        used += (size_t)snprintf(out + used, room - used, "%s%d", between, rank);
        named++;
    }
    if (named < missing)
        snprintf(out + used, room - used, " and %d more", missing - named);
}

static void give_up_waiting(void)
{
    char ranks[256], why[512];
    list_missing(ranks, sizeof(ranks));
    snprintf(why, sizeof(why),
             "of %d ranks these have not come within %d s (WEFT_BOOTSTRAP_TIMEOUT): %s",
             wefti_hub.size, weft_config.BOOTSTRAP_TIMEOUT, ranks);
    wefti_hub_end_job(1, WEFTI_NO_HOST, why);
}

/* ---- a rank ---- */

void wefti_hub_enter(hub_client_t *client, int rank)
{
    client->rank = rank;
    client->host = WEFTI_NO_HOST;
    wefti_hub.clients[rank] = client;
    wefti_hub.fds[rank] = client->stream.fd;
}

static void forget_client(hub_client_t *client)
{
    if (wefti_hub.clients[client->rank] == client) {
        wefti_hub.clients[client->rank] = NULL;
        wefti_hub.fds[client->rank] = -1;
    }
    wefti_hub_stream_close(&client->stream);
    weft_free(client->identity);
    weft_free(client->hostname);
    weft_free(client->wanted);
    weft_free(client);
}

/* With WEFT_REJOIN another process comes for one that is lost while all are waited for. */
static void lose_client(const hub_client_t *client)
{
    char why[512];
    if (weft_config.REJOIN && !wefti_hub.is_complete) {
        wefti_hub.joined--;
        return;
    }
    snprintf(why, sizeof(why), "rank %d (process %d on %.255s) has ended without MPI_Finalize",
             client->rank, client->process, client->hostname);
    if (!wefti_hub_survives(why))
        wefti_hub_end_job(1, WEFTI_NO_HOST, why);
}

/* The process of rank 0 does not use the job, or does again. */
static void note_rest(hub_client_t *client, bool rests)
{
    client->rests = rests;
    if (client->rank == 0)
        tell_all(&(hub_frame_t){.kind = HUB_REST, .number = rests});
    wefti_hub_tell(client, &(hub_frame_t){.kind = HUB_RESTED});
}

static void note_abort(hub_client_t *client, const hub_frame_t *frame)
{
    char why[512];
    snprintf(why, sizeof(why), "%.*s", (int)frame->data_bytes, (const char *)frame->data);
    wefti_hub_end_job(frame->number, client->host, why);
}

static void obey(hub_client_t *client, const hub_frame_t *frame)
{
    switch (frame->kind) {
    case HUB_JOIN:
        take_join(client, frame);
        break;
    case HUB_PUT:
        wefti_hub_put(client, frame);
        break;
    case HUB_GET:
        wefti_hub_get(client, frame);
        break;
    case HUB_FENCE:
        wefti_hub_fence(client, frame);
        break;
    case HUB_STARTED:
        wefti_hub.started += !client->has_started;
        client->has_started = true;
        break;
    case HUB_REST:
        note_rest(client, frame->number != 0);
        break;
    case HUB_ABORT:
        note_abort(client, frame);
        break;
    case HUB_BYE:
        client->has_left = client->is_gone = true;
        break;
    default:
        client->is_gone = true;
    }
}

void wefti_hub_serve(hub_client_t *client)
{
    hub_frame_t frame;
    int found = 0;
    bool is_there = wefti_hub_stream_read(&client->stream);
    while (!client->is_gone && (found = wefti_hub_stream_next(&client->stream, &frame)) > 0)
        obey(client, &frame);
    client->is_gone = client->is_gone || !is_there || found < 0;
}

/* Close the connections of those that are gone. */
static void bury_clients(void)
{
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        hub_client_t *client = wefti_hub.clients[rank];
        if (client == NULL || !client->is_gone)
            continue;
        /* Before it has joined it may have given up this connection for another one. */
        bool is_lost = !client->has_left && !client->rests && rank != 0 && client->identity != NULL;
        wefti_hub.is_deserted = wefti_hub.is_deserted || (rank == 0 && !client->has_left);
        if (rank == 0 && client->has_left && !wefti_hub.is_over) {
            wefti_hub.may_end = true; /* it is told when the others have left, too */
            continue;
        }
        if (is_lost)
            lose_client(client);
        forget_client(client);
    }
}

/* ---- the thread ---- */

/* Fill in what to poll; wefti_hub.polled[i] is whose. */
static int gather_polled(struct pollfd *polls)
{
    int count = 0;
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        hub_client_t *client = wefti_hub.clients[rank];
        if (client == NULL || client->is_gone)
            continue;
        bool has_more = !wefti_hub_stream_is_flushed(&client->stream);
        wefti_hub.polled[count] = client;
        polls[count++] = (struct pollfd){.fd = client->stream.fd,
                                         .events = (short)(POLLIN | (has_more ? POLLOUT : 0))};
    }
    for (weft_link_t *link = wefti_hub.pending.next; link != &wefti_hub.pending;
         link = link->next) {
        hub_client_t *client = WEFT_ELEMENT(link, hub_client_t, link);
        wefti_hub.polled[count] = client;
        polls[count++] = (struct pollfd){.fd = client->stream.fd, .events = POLLIN};
    }
    wefti_hub.polled[count] = NULL;
    if (wefti_hub.listener >= 0)
        polls[count++] = (struct pollfd){.fd = wefti_hub.listener, .events = POLLIN};
    return count;
}

static void serve_one(hub_client_t *client, bool is_writable)
{
    if (wefti_hub.clients[client->rank] != client)
        wefti_hub_read_reply(client);
    else if (is_writable && !wefti_hub_stream_flush(&client->stream))
        client->is_gone = true;
    else if (!client->is_gone)
        wefti_hub_serve(client);
}

static void serve_polled(const struct pollfd *polls, int count)
{
    bool has_listened = wefti_hub.listener >= 0;
    for (int i = 0; i < count; i++) {
        if (polls[i].revents == 0)
            continue;
        if (wefti_hub.polled[i] == NULL)
            wefti_hub_accept();
        else
            serve_one(wefti_hub.polled[i], (polls[i].revents & POLLOUT) != 0);
        if (has_listened && wefti_hub.listener < 0)
            return; /* pending connections are closed */
    }
}

static int time_to_poll(void)
{
    int64_t next_ms = wefti_hub_next_limit();
    if (wefti_hub.is_over)
        next_ms = wefti_hub.has_told_root ? INT64_MAX : wefti_hub.end_ms;
    else if (!wefti_hub.is_complete && wefti_hub.limit_ms < next_ms)
        next_ms = wefti_hub.limit_ms;
    int64_t patience_ms = wefti_hub_pending_limit();
    next_ms = patience_ms < next_ms ? patience_ms : next_ms;
    int64_t wait_ms = next_ms - weft_clock_ms();
    return next_ms == INT64_MAX ? -1 : wait_ms < 0 ? 0 : wait_ms > 60000 ? 60000 : (int)wait_ms + 1;
}

static void watch_the_clock(void)
{
    wefti_hub_end_waits();
    wefti_hub_limit_pending();
    if (!wefti_hub.is_complete && !wefti_hub.is_over && weft_clock_ms() >= wefti_hub.limit_ms)
        give_up_waiting();
}

/* Is any rank but the first connected? has_rest: those that rest count, too */
static bool has_others(bool has_rest)
{
    for (int rank = 1; rank < wefti_hub.size; rank++) {
        const hub_client_t *client = wefti_hub.clients[rank];
        if (client != NULL && (has_rest || !client->rests))
            return true;
    }
    return false;
}

static void end_root(void)
{
    if (!wefti_hub.is_over || wefti_hub.has_told_root ||
        (has_others(true) && weft_clock_ms() < wefti_hub.end_ms))
        return;
    wefti_hub.has_told_root = true;
    tell_end(wefti_hub.clients[0]);
}

/* Has the hub nothing left to do? */
static bool is_done(void)
{
    const hub_client_t *root = wefti_hub.clients[0];
    if (wefti_hub.is_over)
        return root == NULL || root->is_gone; /* it may have said BYE before */
    return wefti_hub.is_deserted || (wefti_hub.may_end && !has_others(false));
}

static void close_hub(void)
{
    if (wefti_hub.may_end && !wefti_hub.is_over)
        tell_all(&(hub_frame_t){.kind = HUB_BYE});
    close_listener();
    for (int rank = 0; rank < wefti_hub.size; rank++) {
        if (wefti_hub.clients[rank] != NULL)
            forget_client(wefti_hub.clients[rank]);
    }
    wefti_hub_release_values();
    weft_free(wefti_hub.clients);
    weft_free(wefti_hub.polled);
    weft_free(wefti_hub.polls);
    weft_free(wefti_hub.fds);
    wefti_hub = (wefti_hub_t){.listener = -1};
}

static void *serve(void *argument)
{
    (void)argument;
    while (!is_done()) {
        int count = gather_polled(wefti_hub.polls);
        if (poll(wefti_hub.polls, (nfds_t)count, time_to_poll()) > 0)
            serve_polled(wefti_hub.polls, count);
        bury_clients();
        watch_the_clock();
        end_root();
    }
    close_hub();
    return NULL;
}

static bool allocate_hub(size_t size)
{
    size_t most = 2 * size + WEFTI_HUB_PENDING_MOST + 2;
    wefti_hub.clients = weft_alloc_zeroed(size, sizeof(*wefti_hub.clients));
    wefti_hub.polled = weft_alloc_zeroed(most, sizeof(*wefti_hub.polled));
    wefti_hub.polls = weft_alloc_zeroed(most, sizeof(*wefti_hub.polls));
    wefti_hub.fds = weft_alloc_array(size, sizeof(*wefti_hub.fds));
    for (size_t i = 0; i < size && wefti_hub.fds != NULL; i++)
        wefti_hub.fds[i] = -1;
    return wefti_hub.clients != NULL && wefti_hub.polled != NULL && wefti_hub.polls != NULL &&
           wefti_hub.fds != NULL && wefti_hub_open_values();
}

int wefti_hub_start(const weft_hub_plan_t *plan, int listener, int own_fd)
{
    hub_client_t *self = weft_alloc_zeroed(1, sizeof(*self));
    wefti_hub = (wefti_hub_t){.listener = listener,
                              .size = plan->self.size,
                              .opened = (uint32_t)plan->opened,
                              .knows_users = listener >= 0 && weft_peer_user_open(),
                              .limit_ms = plan->limit_ms};
    memcpy(wefti_hub.secret, plan->secret, sizeof(wefti_hub.secret));
    weft_list_init(&wefti_hub.pending);
    if (weft_file_limit() < 2 * (unsigned long)plan->self.size + WEFTI_HUB_PENDING_MOST)
        weft_file_limit_raise();
    bool has_room = allocate_hub((size_t)plan->self.size) && self != NULL;
    if (has_room) {
        self->stream.fd = own_fd;
        wefti_hub_enter(self, 0);
        if (weft_thread_start(NULL, STACK_BYTES, serve, &thread) == 0)
            return MPI_SUCCESS;
    } else {
        close(own_fd);
        weft_free(self);
    }
    wefti_hub.size = has_room ? wefti_hub.size : 0;
    close_hub();
    return weft_fail(MPI_ERR_NO_MEM, "rank 0 cannot start the thread by which %d ranks meet",
                     plan->self.size);
}

void wefti_hub_await_end(void)
{
    pthread_join(thread, NULL);
}

void wefti_hub_forget(void)
{
    if (wefti_hub.listener >= 0)
        close(wefti_hub.listener);
    for (int rank = 0; rank < wefti_hub.size && wefti_hub.fds != NULL; rank++) {
        if (wefti_hub.fds[rank] >= 0)
            close(wefti_hub.fds[rank]);
    }
}
