/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/pmix_server.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/pmix_service.h"
#include "mpi.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int64_t wl_pmix_request_end_ms(const wl_pmix_request_t *request)
{
    /* PMIx has an int; what is larger comes from a damaged message, and may be no number of ms. */
    bool is_limited = request->timeout_s > 0 && request->timeout_s <= INT32_MAX;
    return is_limited ? weft_clock_ms() + request->timeout_s * 1000 : INT64_MAX;
}

void wl_pmix_request_release(wl_pmix_request_t *request)
{
    weft_free(request->ranks);
    weft_free(request->key);
    weft_free(request->data);
    weft_free(request);
}

/* ---- Messages from the server ---- */

static void take_environment(wl_pmix_server_t *server, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    uint32_t index = wl_read_u32(&reader);
    while (reader.left > 0 && !reader.has_failed && index < (uint32_t)server->ours->count) {
        const char *text = wl_read_text(&reader), *equals = text == NULL ? NULL : strchr(text, '=');
        char name[64];
        if (equals == NULL || (size_t)(equals - text) >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
        wl_variables_set(&server->environments[index], name, equals + 1);
    }
}

/* Take the rest of a body as the data of a request. */
static bool take_data(wl_pmix_request_t *request, const wl_reader_t *reader)
{
    if (reader->has_failed)
        return false;
    request->data = weft_alloc(reader->left + 1);
    if (request->data == NULL)
        return false;
    memcpy(request->data, reader->at, reader->left);
    request->bytes = reader->left;
    return true;
}

static bool take_ranks(wl_pmix_request_t *request, wl_reader_t *reader)
{
    uint32_t count = wl_read_count(reader, sizeof(uint32_t));
    request->ranks = weft_alloc_array(count, sizeof(int));
    if (request->ranks == NULL && count > 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        request->ranks[i] = (int)wl_read_u32(reader);
    request->count = (int)count;
    return true;
}

static bool read_fence(wl_pmix_request_t *request, wl_reader_t *reader)
{
    request->kind = WL_REQUEST_FENCE;
    request->call = wl_read_u64(reader);
    request->purpose = (wl_fence_purpose_t)wl_read_u32(reader);
    request->timeout_s = (int64_t)wl_read_u64(reader);
    return take_ranks(request, reader) && take_data(request, reader);
}

static bool read_get(wl_pmix_request_t *request, wl_reader_t *reader)
{
    request->kind = WL_REQUEST_GET;
    request->call = wl_read_u64(reader);
    request->rank = (int)wl_read_u32(reader);
    request->timeout_s = (int64_t)wl_read_u64(reader);
    const char *key = wl_read_text(reader);
    request->key = key == NULL ? NULL : weft_strdup(key);
    return !reader->has_failed;
}

static void take_request(wl_pmix_server_t *server, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    if (request == NULL || server->on_request == NULL) {
        weft_free(request);
        return;
    }
    request->server = server;
    bool is_read =
        message->kind == WL_PMIX_FENCE ? read_fence(request, &reader) : read_get(request, &reader);
    if (is_read)
        server->on_request(server->owner, request);
    else
        wl_pmix_request_release(request);
}

static void take_looked_up(wl_pmix_server_t *server, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    uint64_t call = wl_read_u64(&reader);
    int status = (int)wl_read_u32(&reader);
    for (weft_link_t *link = server->looking_up.next; link != &server->looking_up;
         link = link->next) {
        wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
        if (request->call != call)
            continue;
        weft_list_remove(link);
        request->status = status;
        if (take_data(request, &reader))
            server->on_request(server->owner, request);
        else
            wl_pmix_request_release(request);
        return;
    }
}

/* true: it is an event. */
static bool take_server_message(wl_pmix_server_t *server, const wl_message_t *message,
                                wl_rank_event_t *out)
{
    switch (message->kind) {
    case WL_PMIX_EVENT:
        if (message->bytes != sizeof(*out))
            return false;
        memcpy(out, message->body, sizeof(*out));
        return true;
    case WL_PMIX_ENVIRONMENT:
        take_environment(server, message);
        break;
    case WL_PMIX_FENCE:
    case WL_PMIX_GET:
        take_request(server, message);
        break;
    case WL_PMIX_LOOKED_UP:
        take_looked_up(server, message);
        break;
    default:
        break;
    }
    return false;
}

/* ---- The server's end ---- */

/* Its sockets close before it can be waited for; false: it cannot be reaped soon. */
static bool reap(wl_pmix_server_t *server, siginfo_t *info)
{
    enum { MOST_US = 500000, STEP_US = 50 };
    for (int i = 0; i < MOST_US / STEP_US; i++) {
        *info = (siginfo_t){0};
        if (waitid(P_PID, (id_t)server->pid, info, WEXITED | WNOHANG) != 0 || info->si_pid != 0) {
            server->pid = 0;
            return true;
        }
        usleep(STEP_US);
    }
    return false;
}

static void explain_server_end(wl_pmix_server_t *server, char *out, size_t bytes)
{
    siginfo_t info;
    if (!reap(server, &info))
        snprintf(out, bytes, "it closed its connection");
    else if (info.si_code == CLD_EXITED)
        snprintf(out, bytes, "it ended with exit code %d", info.si_status);
    else
        snprintf(out, bytes, "it was killed by signal %d (%s)", info.si_status,
                 strsignal(info.si_status));
}

bool wl_pmix_server_next_event(wl_pmix_server_t *server, wl_rank_event_t *out)
{
    wl_message_t message;
    while (wl_connection_next(&server->connection, &message)) {
        if (take_server_message(server, &message, out))
            return true;
    }
    if (server->pid == 0 || server->connection.fd >= 0 || server->has_told_end)
        return false;
    server->has_told_end = true;
    *out = (wl_rank_event_t){.kind = WL_SERVER_LOST, .rank = server->ours->ranks[0]};
    explain_server_end(server, out->text, sizeof(out->text));
    return true;
}

void wl_pmix_server_read(wl_pmix_server_t *server)
{
    wl_connection_advance(&server->connection);
}

/* ---- Start ---- */

/* Wait for what the server says first. */
static int await_ready(wl_pmix_server_t *server)
{
    wl_message_t message;
    wl_rank_event_t unexpected;
    for (;;) {
        while (wl_connection_next(&server->connection, &message)) {
            wl_reader_t reader = wl_read_begin(&message);
            if (message.kind == WL_PMIX_READY)
                return MPI_SUCCESS;
            if (message.kind == WL_PMIX_FAILED) {
                int err = (int)wl_read_u32(&reader);
                const char *text = wl_read_text(&reader);
                return weft_fail(err, "%s", text == NULL ? "the PMIx server failed" : text);
            }
            take_server_message(server, &message, &unexpected);
        }
        if (server->connection.fd < 0) {
            char why[128];
            explain_server_end(server, why, sizeof(why));
            return weft_fail(MPI_ERR_SERVICE, "the PMIx server did not start: %s", why);
        }
        struct pollfd poll_fd = {.fd = server->connection.fd, .events = POLLIN};
        poll(&poll_fd, 1, -1);
        wl_connection_advance(&server->connection);
    }
}

static void server_ready(void *owner, short ready)
{
    wl_pmix_server_t *server = owner;
    (void)ready;
    wl_pmix_server_read(server);
}

static int start_server(wl_pmix_server_t *server, const wli_pmix_service_t *service)
{
    int ends[2];
    pid_t self = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return weft_fail(MPI_ERR_SERVICE, "a socket cannot be made: %s", strerror(errno));
    server->pid = fork();
    if (server->pid == 0)
        wli_pmix_serve(service, ends[1], self);
    close(ends[1]);
    wl_connection_open(ends[0], &server->connection);
    if (server->pid > 0)
        return MPI_SUCCESS;
    server->pid = 0;
    return weft_fail(MPI_ERR_SPAWN, "a process cannot be started: %s", strerror(errno));
}

int wl_pmix_server_open(wl_pmix_server_t *server, const wl_job_plan_t *plan, int host,
                        const wl_scratch_t *scratch)
{
    const wli_pmix_service_t service = {.plan = plan, .host = host, .scratch = scratch};
    server->ours = &plan->placement.hosts[host];
    server->connection.fd = -1;
    weft_list_init(&server->looking_up);
    server->environments =
        weft_alloc_zeroed((size_t)server->ours->count, sizeof(*server->environments));
    if (server->environments == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "the environments of %d ranks", server->ours->count);
    return start_server(server, &service);
}

int wl_pmix_server_await(wl_pmix_server_t *server, wl_loop_t *loop)
{
    int err = await_ready(server);
    return err == MPI_SUCCESS ? wl_connection_watch(&server->connection, loop, server_ready, server)
                              : err;
}

int wl_pmix_server_extend_environment(const wl_pmix_server_t *server, int index,
                                      wl_variables_t *environment)
{
    return wl_variables_merge(environment, &server->environments[index]);
}

void wl_pmix_server_forget_environments(wl_pmix_server_t *server)
{
    for (int i = 0; server->environments != NULL && i < server->ours->count; i++)
        wl_variables_release(&server->environments[i]);
    weft_free(server->environments);
    server->environments = NULL;
}

/* ---- Messages to the server ---- */

static void send_to_server(wl_pmix_server_t *server, wl_pmix_message_t kind, wl_writer_t *body)
{
    const wl_message_t message = {.kind = (int)kind,
                                  .body = wl_queue_front(&body->body),
                                  .bytes = wl_queue_bytes(&body->body)};
    wl_connection_send(&server->connection, &message);
    wl_writer_release(body);
}

void wl_pmix_answer(wl_pmix_request_t *request, int status, const char *data, size_t bytes)
{
    wl_writer_t body = {0};
    wl_write_u64(&body, request->call);
    wl_write_u32(&body, (uint32_t)status);
    wl_write_bytes(&body, data, bytes);
    send_to_server(request->server, WL_PMIX_ANSWER, &body);
    wl_pmix_request_release(request);
}

void wl_pmix_look_up(wl_pmix_server_t *server, wl_pmix_request_t *request)
{
    wl_writer_t body = {0};
    weft_free(request->data); /* of an earlier try */
    request->data = NULL;
    request->bytes = 0;
    request->call = server->next_call++;
    weft_list_append(&server->looking_up, &request->link);
    wl_write_u64(&body, request->call);
    wl_write_u32(&body, (uint32_t)request->rank);
    wl_write_text(&body, request->key);
    send_to_server(server, WL_PMIX_LOOK_UP, &body);
}

void wl_pmix_server_lose(wl_pmix_server_t *server, int rank)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)rank);
    send_to_server(server, WL_PMIX_LOSE, &body);
}

void wl_pmix_server_end(wl_pmix_server_t *server)
{
    server->has_told_end = true;
    if (server->pid > 0)
        kill(server->pid, SIGKILL);
}

void wl_pmix_server_close(wl_pmix_server_t *server)
{
    siginfo_t info;
    wl_pmix_server_end(server);
    if (server->pid > 0)
        reap(server, &info);
    wl_connection_close(&server->connection);
    wl_pmix_server_forget_environments(server);
    for (weft_link_t *link;
         server->ours != NULL && (link = weft_list_pop(&server->looking_up)) != NULL;)
        wl_pmix_request_release(WEFT_ELEMENT(link, wl_pmix_request_t, link));
}
