/* SPDX-License-Identifier: BSD-3-Clause */
/* What all bootstraps have in common that use the hub. */
#include "pmi/bootstrap_private.h"
#include "pmi/hub_link_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SLACK_MS = 10000, /* within which the hub answers beyond the time of a question */
    ABORT_MS = 3000,  /* for telling the others */
    KEY_ROOM = 600,
};

static struct {
    weft_hub_plan_t plan;
    int *host_of;     /* [size] */
    int *local_ranks; /* [local_size] */
    int opened;
    atomic_bool is_open; /* hub_abort() reads it in any thread */
    atomic_flag aborts;
} hub = {.aborts = ATOMIC_FLAG_INIT};

/* ---- joining ---- */

/* Rank 0 is connected to its own hub by a pair of sockets. */
static int connect_to_own_hub(weft_hub_plan_t *plan, int *fd_out)
{
    int listener, pair[2];
    int err = wefti_hub_listen(plan, &listener);
    if (err != MPI_SUCCESS)
        return err;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        if (listener >= 0)
            close(listener);
        return weft_fail(MPI_ERR_OTHER, "a pair of sockets cannot be made: %s", strerror(errno));
    }
    err = wefti_hub_start(plan, listener, pair[1]);
    if (err == MPI_SUCCESS)
        *fd_out = pair[0];
    else
        close(pair[0]);
    return err;
}

static int introduce_self(const weft_hub_plan_t *plan, const char *hostname, wefti_hub_reply_t *out)
{
    char identity[640];
    wefti_hub_identify_host(plan->self.host, identity, sizeof(identity));
    hub_frame_t join = {.kind = HUB_JOIN,
                        .number = (int32_t)getpid(),
                        .key = identity,
                        .key_bytes = (uint32_t)strlen(identity),
                        .data = hostname,
                        .data_bytes = (uint32_t)strlen(hostname)};
    int64_t limit_ms = (int64_t)weft_config.BOOTSTRAP_TIMEOUT * 1000 + SLACK_MS;
    int err = wefti_hub_link_ask(&join, limit_ms, out);
    if (err != MPI_SUCCESS || out->kind == HUB_JOINED)
        return err;
    err = weft_fail(MPI_ERR_OTHER, "%s", (const char *)out->data);
    wefti_hub_reply_release(out);
    return err;
}

static int read_hosts(const wefti_hub_reply_t *joined, int size)
{
    const int32_t *hosts = joined->data;
    if (joined->data_bytes != (uint32_t)size * sizeof(*hosts))
        return weft_fail(MPI_ERR_OTHER, "rank 0 gives the hosts of %zu ranks, not of %d",
                         joined->data_bytes / sizeof(*hosts), size);
    hub.host_of = weft_alloc_array((size_t)size, sizeof(int));
    hub.local_ranks = weft_alloc_array((size_t)size, sizeof(int));
    if (hub.host_of == NULL || hub.local_ranks == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", size);
    for (int rank = 0; rank < size; rank++)
        hub.host_of[rank] = (int)le32toh((uint32_t)hosts[rank]);
    return MPI_SUCCESS;
}

static int describe_ranks(const wefti_hub_reply_t *joined, weft_pmi_job_t *job)
{
    int err = read_hosts(joined, job->size);
    if (err != MPI_SUCCESS)
        return err;
    for (int rank = 0; rank < job->size; rank++) {
        if (hub.host_of[rank] != hub.host_of[job->rank])
            continue;
        if (rank == job->rank)
            job->local_rank = job->local_size;
        hub.local_ranks[job->local_size++] = rank;
    }
    job->local_ranks = hub.local_ranks;
    snprintf(job->id, sizeof(job->id), "%s", joined->key);
    return MPI_SUCCESS;
}

static void release_ranks(void)
{
    weft_free(hub.host_of);
    weft_free(hub.local_ranks);
    hub.host_of = hub.local_ranks = NULL;
}

static void leave_hub(bool in_order)
{
    wefti_hub_link_close(in_order);
    if (hub.plan.self.rank == 0)
        wefti_hub_await_end();
    release_ranks();
}

static void mark_process(void)
{
    if (hub.plan.job != NULL)
        weft_pmi_mark_process(hub.plan.job, hub.plan.self.rank);
}

static void begin_to_speak(const weft_pmi_job_t *job)
{
    int host = hub.host_of[job->rank];
    wefti_hub_link_joined(
        (wefti_hub_speaker_t){.host = host,
                              .says_why = job->local_rank == 0,
                              .says_hub = job->local_rank == (host == hub.host_of[0] ? 1 : 0)});
}

static int open_link(void)
{
    int fd;
    int err = hub.plan.self.rank == 0 ? connect_to_own_hub(&hub.plan, &fd)
                                      : wefti_hub_connect(&hub.plan, &fd);
    if (err != MPI_SUCCESS)
        return err;
    err = wefti_hub_link_open(fd);
    if (err != MPI_SUCCESS && hub.plan.self.rank == 0)
        wefti_hub_await_end();
    return err;
}

/* With WEFT_REJOIN rank 0 may die while others wait for all: it comes again, as they do. */
static int meet_all(const char *hostname, wefti_hub_reply_t *joined)
{
    for (;;) {
        int err = open_link();
        if (err != MPI_SUCCESS)
            return err;
        err = introduce_self(&hub.plan, hostname, joined);
        if (err == MPI_SUCCESS)
            return MPI_SUCCESS;
        bool comes_again = weft_config.REJOIN && hub.plan.self.rank != 0 &&
                           wefti_hub_link_is_cut() && weft_clock_ms() < hub.plan.limit_ms;
        leave_hub(false);
        if (!comes_again)
            return err;
    }
}

/* Weft's mpirun starts a rank again unless it knows that it had come to its end. */
static void begin_notes(int rank)
{
    if (!weft_config.REJOIN)
        return;
    weft_pmi_notes_open(NULL, rank);
    weft_pmi_note(WEFT_NOTE_CONNECTED, 0, NULL);
}

int weft_hub_join(const weft_hub_plan_t *plan, weft_pmi_job_t *out)
{
    weft_pmi_job_t job = {
        .rank = plan->self.rank, .size = plan->self.size, .universe_size = plan->self.size};
    wefti_hub_reply_t joined;
    hub.plan = *plan;
    hub.plan.opened = weft_config.REJOIN ? 0 : ++hub.opened; /* a new process cannot count */
    hub.plan.limit_ms = weft_clock_ms() + (int64_t)weft_config.BOOTSTRAP_TIMEOUT * 1000;
    if (plan->self.host != NULL)
        snprintf(job.hostname, sizeof(job.hostname), "%s", plan->self.host);
    else
        gethostname(job.hostname, sizeof(job.hostname) - 1);
    begin_notes(job.rank);
    int err = meet_all(job.hostname, &joined);
    if (err != MPI_SUCCESS)
        return err;
    err = describe_ranks(&joined, &job);
    wefti_hub_reply_release(&joined);
    if (err != MPI_SUCCESS) {
        leave_hub(false);
        return err;
    }
    begin_to_speak(&job);
    hub.is_open = true;
    mark_process();
    *out = job;
    return MPI_SUCCESS;
}

/* ---- the calls ---- */

static int hub_put(const char *key, const void *data, size_t bytes)
{
    if (bytes > HUB_DATA_MOST)
        return weft_fail(MPI_ERR_OTHER, "start-up data %s of %zu bytes, more than %d", key, bytes,
                         (int)HUB_DATA_MOST);
    hub_frame_t frame = {.kind = HUB_PUT,
                         .key = key,
                         .key_bytes = (uint32_t)strlen(key),
                         .data = data,
                         .data_bytes = (uint32_t)bytes};
    if (!wefti_hub_link_send(&frame))
        return weft_fail(MPI_ERR_OTHER, "the connection to rank 0 has ended");
    return MPI_SUCCESS;
}

static int hub_fence_members(const void *members, size_t bytes)
{
    wefti_hub_reply_t reply;
    hub_frame_t question = {.kind = HUB_FENCE, .key = members, .key_bytes = (uint32_t)bytes};
    int err = wefti_hub_link_ask(&question, -1, &reply);
    if (err == MPI_SUCCESS)
        wefti_hub_reply_release(&reply);
    return err;
}

static int hub_fence(void)
{
    return hub_fence_members(NULL, 0);
}

static int hub_fence_ranks(const int *ranks, int count)
{
    return count == 1 ? MPI_SUCCESS : hub_fence_members(ranks, (size_t)count * sizeof(*ranks));
}

/* *is_there_out is set on success. */
static int ask_value(int rank, const char *key, int limit_ms, wefti_hub_reply_t *out)
{
    char full[KEY_ROOM];
    int length = snprintf(full, sizeof(full), "%d/%s", rank, key);
    hub_frame_t question = {
        .kind = HUB_GET, .number = limit_ms, .key = full, .key_bytes = (uint32_t)length};
    return wefti_hub_link_ask(&question, (int64_t)limit_ms + SLACK_MS, out);
}

static int take_reply(wefti_hub_reply_t *reply, void **out, size_t *bytes_out)
{
    *out = reply->data;
    *bytes_out = reply->data_bytes;
    reply->data = NULL;
    wefti_hub_reply_release(reply);
    return MPI_SUCCESS;
}

static int hub_get(int rank, const char *key, void **out, size_t *bytes_out)
{
    wefti_hub_reply_t reply;
    int err = ask_value(rank, key, 0, &reply);
    if (err != MPI_SUCCESS)
        return err;
    if (reply.kind == HUB_VALUE)
        return take_reply(&reply, out, bytes_out);
    wefti_hub_reply_release(&reply);
    return weft_fail(MPI_ERR_OTHER, "there is no start-up data %s of rank %d", key, rank);
}

static int hub_await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out)
{
    wefti_hub_reply_t reply;
    int err = ask_value(rank, key, limit_s * 1000, &reply);
    if (err != MPI_SUCCESS)
        return err;
    if (reply.kind == HUB_VALUE)
        return take_reply(&reply, out, bytes_out);
    wefti_hub_reply_release(&reply);
    return weft_fail(MPI_ERR_OTHER, "rank %d has not published %s within %d s", rank, key, limit_s);
}

static int hub_find_nodes(int *node_of)
{
    memcpy(node_of, hub.host_of, (size_t)hub.plan.self.size * sizeof(*node_of));
    return MPI_SUCCESS;
}

static int hub_find_psets(weft_pmi_pset_t sets[])
{
    (void)sets;
    return 0;
}

static void hub_started(void)
{
    wefti_hub_link_started();
}

static void hub_rest(void)
{
    wefti_hub_link_rest(true);
    weft_pmi_unmark_process();
}

static void hub_wake(void)
{
    wefti_hub_link_rest(false);
    mark_process();
}

/* The hub ends this process, too, when it has told the others. */
static void hub_abort(int code, const char *message, bool is_bereft)
{
    wefti_hub_reply_t reply;
    if (weft_config.REJOIN && hub.is_open && !is_bereft &&
        weft_pmi_note(WEFT_NOTE_ABORTED, code, message))
        return; /* mpirun says it, and ends the others */
    if (message[0] != '\0')
        weft_log_write(WEFT_ERROR, "pmi", "%s", message);
    if (!hub.is_open)
        return;
    if (weft_config.REJOIN && is_bereft && weft_pmi_note(WEFT_NOTE_LOST_PEER, code, message))
        return;                                /* the others see the loss by themselves */
    if (atomic_flag_test_and_set(&hub.aborts)) /* another thread is at it */
        nanosleep(&(struct timespec){.tv_sec = ABORT_MS / 1000}, NULL);
    hub_frame_t question = {.kind = HUB_ABORT,
                            .number = code,
                            .data = message,
                            .data_bytes = (uint32_t)strlen(message)};
    if (wefti_hub_link_ask(&question, ABORT_MS, &reply) == MPI_SUCCESS)
        wefti_hub_reply_release(&reply);
}

static int hub_close(void)
{
    hub.is_open = false;
    if (weft_config.REJOIN)
        weft_pmi_note(WEFT_NOTE_FINALIZED, 0, NULL);
    weft_pmi_unmark_process();
    leave_hub(true);
    return MPI_SUCCESS;
}

const weft_bootstrap_calls_t weft_hub_calls = {
    .put = hub_put,
    .publish = hub_put,
    .fence = hub_fence,
    .fence_ranks = hub_fence_ranks,
    .get = hub_get,
    .await = hub_await,
    .find_nodes = hub_find_nodes,
    .find_psets = hub_find_psets,
    .started = hub_started,
    .rest = hub_rest,
    .wake = hub_wake,
    .abort = hub_abort,
    .close = hub_close,
};
