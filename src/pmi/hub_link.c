/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's connection to the hub. A thread reads it, so that the rank ends with the job also while
 * it computes; the thread sleeps otherwise. The rank's calls, one at a time, send a question and
 * wait until the thread has the reply.
 */
#include "pmi/bootstrap_private.h"
#include "pmi/hub_link_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "mpi.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, SEND_MS = 10000 };

static struct {
    hub_stream_t stream; /* `in` is the thread's; `out` under `sending` */
    pthread_t thread;
    pthread_mutex_t lock, sending;
    pthread_cond_t has_changed;
    /* under `lock`: */
    wefti_hub_reply_t reply;
    bool has_reply, is_cut;
    bool may_end;   /* the end of the connection is no failure */
    bool hub_rests; /* the same, since rank 0 rests */
    bool can_go_on; /* the same, with WEFT_RECOVERY */
    wefti_hub_speaker_t speaker;
} hub_link = {
    .stream.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .sending = PTHREAD_MUTEX_INITIALIZER};

/* ---- the thread ---- */

/* Weft's mpirun starts this rank again. */
static void tell_launcher(int code, const char *why)
{
    if (weft_config.REJOIN)
        weft_pmi_note(WEFT_NOTE_LOST_PEER, code, why);
}

/* The job ends; the reason has been printed on host `printed_on`. */
static __attribute__((noreturn)) void end_process(int code, int printed_on, const char *why)
{
    tell_launcher(code, why);
    pthread_mutex_lock(&hub_link.lock);
    wefti_hub_speaker_t speaker = hub_link.speaker;
    pthread_mutex_unlock(&hub_link.lock);
    if (speaker.says_why && speaker.host != printed_on && why[0] != '\0')
        weft_log_write(WEFT_ERROR, "pmi", "%s", why);
    _exit(code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff);
}

static __attribute__((noreturn)) void end_without_hub(void)
{
    tell_launcher(1, "");
    pthread_mutex_lock(&hub_link.lock);
    bool says_hub = hub_link.speaker.says_hub;
    pthread_mutex_unlock(&hub_link.lock);
    if (says_hub)
        weft_log_write(WEFT_ERROR, "pmi", "rank 0 has ended without MPI_Finalize");
    _exit(1);
}

static void obey_end(const hub_frame_t *frame)
{
    char why[512];
    int32_t printed_on = -1;
    if (frame->key_bytes == sizeof(printed_on))
        memcpy(&printed_on, frame->key, sizeof(printed_on));
    snprintf(why, sizeof(why), "%.*s", (int)frame->data_bytes, (const char *)frame->data);
    end_process(frame->number, (int32_t)le32toh((uint32_t)printed_on), why);
}

static void set_flag(bool *flag, bool value)
{
    pthread_mutex_lock(&hub_link.lock);
    *flag = value;
    pthread_mutex_unlock(&hub_link.lock);
}

static void *copy_of(const void *data, uint32_t bytes)
{
    char *copy = weft_alloc((size_t)bytes + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, data, bytes);
    copy[bytes] = '\0';
    return copy;
}

static void hand_over(const hub_frame_t *frame)
{
    wefti_hub_reply_t reply = {.kind = frame->kind,
                               .number = frame->number,
                               .key = copy_of(frame->key, frame->key_bytes),
                               .data = copy_of(frame->data, frame->data_bytes),
                               .data_bytes = frame->data_bytes};
    pthread_mutex_lock(&hub_link.lock);
    wefti_hub_reply_release(&hub_link.reply); /* nobody has waited for it */
    hub_link.reply = reply;
    hub_link.has_reply = true;
    pthread_cond_signal(&hub_link.has_changed);
    pthread_mutex_unlock(&hub_link.lock);
}

static void take_frame(const hub_frame_t *frame)
{
    if (frame->kind == HUB_ABORTED)
        obey_end(frame);
    else if (frame->kind == HUB_BYE)
        set_flag(&hub_link.may_end, true);
    else if (frame->kind == HUB_REST)
        set_flag(&hub_link.hub_rests, frame->number != 0);
    else
        hand_over(frame);
}

static bool take_frames(void)
{
    hub_frame_t frame;
    int found;
    bool is_there = wefti_hub_stream_read(&hub_link.stream);
    while ((found = wefti_hub_stream_next(&hub_link.stream, &frame)) > 0)
        take_frame(&frame);
    return is_there && found == 0;
}

static void *listen_to_hub(void *argument)
{
    (void)argument;
    struct pollfd polled = {.fd = hub_link.stream.fd, .events = POLLIN};
    bool is_there = true;
    while (is_there)
        is_there = poll(&polled, 1, -1) < 0 ? errno == EINTR : take_frames();
    pthread_mutex_lock(&hub_link.lock);
    bool is_failure = !hub_link.may_end && !hub_link.hub_rests && !hub_link.can_go_on;
    hub_link.is_cut = true;
    pthread_cond_signal(&hub_link.has_changed);
    pthread_mutex_unlock(&hub_link.lock);
    if (is_failure)
        end_without_hub();
    return NULL;
}

/* ---- the rank ---- */

void wefti_hub_reply_release(wefti_hub_reply_t *reply)
{
    weft_free(reply->key);
    weft_free(reply->data);
    *reply = (wefti_hub_reply_t){0};
}

static struct timespec time_after(int64_t ms)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    return end;
}

/* A child after fork is no rank: the connection ends with the rank's process. */
static void forget_in_child(void)
{
    wefti_hub_forget();
    if (hub_link.stream.fd >= 0)
        close(hub_link.stream.fd);
    hub_link.stream.fd = -1;
}

static void prepare_once(void)
{
    static bool is_prepared;
    pthread_condattr_t clock;
    if (is_prepared)
        return;
    is_prepared = true;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&hub_link.has_changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_atfork(NULL, NULL, forget_in_child);
}

int wefti_hub_link_open(int fd)
{
    prepare_once();
    hub_link.stream = (hub_stream_t){.fd = fd};
    hub_link.may_end = true; /* until the rank has joined */
    hub_link.has_reply = hub_link.is_cut = hub_link.hub_rests = false;
    /* Who is started again when it ends needs no start in which another one is missing. */
    hub_link.can_go_on = weft_config.RECOVERY && !weft_config.REJOIN;
    hub_link.speaker = (wefti_hub_speaker_t){0};
    int error = weft_thread_start(NULL, STACK_BYTES, listen_to_hub, &hub_link.thread);
    if (error == 0)
        return MPI_SUCCESS;
    wefti_hub_stream_close(&hub_link.stream);
    return weft_fail(MPI_ERR_OTHER, "a thread cannot be started: %s", strerror(error));
}

void wefti_hub_link_joined(wefti_hub_speaker_t speaker)
{
    pthread_mutex_lock(&hub_link.lock);
    hub_link.speaker = speaker;
    hub_link.may_end = false;
    bool is_failure = hub_link.is_cut && !hub_link.can_go_on; /* in between */
    pthread_mutex_unlock(&hub_link.lock);
    if (is_failure)
        end_without_hub();
}

void wefti_hub_link_started(void)
{
    wefti_hub_link_send(&(hub_frame_t){.kind = HUB_STARTED});
    set_flag(&hub_link.can_go_on, true);
}

bool wefti_hub_link_is_cut(void)
{
    pthread_mutex_lock(&hub_link.lock);
    bool is_cut = hub_link.is_cut;
    pthread_mutex_unlock(&hub_link.lock);
    return is_cut;
}

void wefti_hub_link_rest(bool rests)
{
    enum { REST_MS = 10000 };
    wefti_hub_reply_t reply;
    set_flag(&hub_link.may_end, rests);
    hub_frame_t question = {.kind = HUB_REST, .number = rests};
    if (wefti_hub_link_ask(&question, REST_MS, &reply) == MPI_SUCCESS)
        wefti_hub_reply_release(&reply);
}

bool wefti_hub_link_send(const hub_frame_t *frame)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SEND_MS / 1000;
    if (pthread_mutex_timedlock(&hub_link.sending, &end) != 0)
        return false;
    bool is_good = wefti_hub_stream_send(&hub_link.stream, frame);
    while (is_good && !wefti_hub_stream_is_flushed(&hub_link.stream)) {
        struct pollfd polled = {.fd = hub_link.stream.fd, .events = POLLOUT};
        is_good = poll(&polled, 1, SEND_MS) != 0 && wefti_hub_stream_flush(&hub_link.stream);
    }
    pthread_mutex_unlock(&hub_link.sending);
    return is_good;
}

int wefti_hub_link_ask(const hub_frame_t *question, int64_t limit_ms, wefti_hub_reply_t *out)
{
    pthread_mutex_lock(&hub_link.lock);
    wefti_hub_reply_release(&hub_link.reply);
    hub_link.has_reply = false;
    pthread_mutex_unlock(&hub_link.lock);
    bool is_sent = wefti_hub_link_send(question);
    struct timespec end = time_after(limit_ms < 0 ? 0 : limit_ms);
    int error = 0;
    pthread_mutex_lock(&hub_link.lock);
    while (is_sent && !hub_link.has_reply && !hub_link.is_cut && error != ETIMEDOUT)
        error = limit_ms < 0 ? pthread_cond_wait(&hub_link.has_changed, &hub_link.lock)
                             : pthread_cond_timedwait(&hub_link.has_changed, &hub_link.lock, &end);
    bool has_reply = hub_link.has_reply;
    bool is_failure = hub_link.is_cut && !hub_link.may_end && !hub_link.can_go_on;
    *out = hub_link.reply;
    hub_link.reply = (wefti_hub_reply_t){0};
    hub_link.has_reply = false;
    pthread_mutex_unlock(&hub_link.lock);
    if (has_reply && out->data != NULL && out->key != NULL)
        return MPI_SUCCESS;
    wefti_hub_reply_release(out);
    if (is_failure && weft_config.REJOIN)
        end_without_hub(); /* as the thread is about to do */
    if (has_reply)
        return weft_fail(MPI_ERR_NO_MEM, "a reply of rank 0 to a start-up question");
    return weft_fail(MPI_ERR_OTHER, error == ETIMEDOUT ? "rank 0 does not answer"
                                                       : "the connection to rank 0 has ended");
}

void wefti_hub_link_close(bool in_order)
{
    set_flag(&hub_link.may_end, true);
    if (in_order)
        wefti_hub_link_send(&(hub_frame_t){.kind = HUB_BYE});
    else
        shutdown(hub_link.stream.fd, SHUT_RDWR);
    pthread_join(hub_link.thread, NULL);
    wefti_hub_stream_close(&hub_link.stream);
    wefti_hub_reply_release(&hub_link.reply);
}
