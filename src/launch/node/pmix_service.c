/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/pmix_service.h"

#include "base/fail.h"
#include "launch/loop/connection.h"
#include "launch/node/helper_process.h"
#include "launch/node/pmix_exchange.h"
#include "launch/node/pmix_host.h"
#include "launch/node/pmix_server.h"
#include "mpi.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Of messages to mpirun: two threads send them. */
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

/* Upcalls may come while the main thread sleeps in its own reading, so this waits for room itself.
 * mpirun never waits for this process, so the room comes. */
static void flush(wl_connection_t *out)
{
    while (!wl_connection_is_flushed(out)) {
        struct pollfd room = {.fd = out->fd, .events = POLLOUT};
        wl_connection_flush(out);
        if (!wl_connection_is_flushed(out))
            poll(&room, 1, -1);
    }
}

void wli_pmix_tell(int kind, wl_writer_t *body)
{
    static wl_connection_t out = {.fd = WL_HELPER_FD};
    const wl_message_t message = {
        .kind = kind, .body = wl_queue_front(&body->body), .bytes = wl_queue_bytes(&body->body)};
    pthread_mutex_lock(&sending);
    wl_connection_send(&out, &message);
    flush(&out);
    pthread_mutex_unlock(&sending);
    wl_writer_release(body);
}

static void tell_environment(int index, const wl_variables_t *environment)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, (uint32_t)index);
    for (int i = 0; i < environment->count; i++)
        wl_write_text(&body, environment->entries[i]);
    wli_pmix_tell(WL_PMIX_ENVIRONMENT, &body);
}

static int tell_environments(const wl_placed_host_t *ours)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < ours->count && err == MPI_SUCCESS; i++) {
        wl_variables_t environment = {0};
        err = wl_pmix_host_extend_environment(ours->ranks[i], &environment);
        if (err == MPI_SUCCESS)
            tell_environment(i, &environment);
        wl_variables_release(&environment);
    }
    return err;
}

static void tell_outcome(int err)
{
    wl_writer_t body = {0};
    if (err != MPI_SUCCESS) {
        wl_write_u32(&body, (uint32_t)err);
        wl_write_text(&body, weft_fail_text());
    }
    wli_pmix_tell(err == MPI_SUCCESS ? WL_PMIX_READY : WL_PMIX_FAILED, &body);
}

static void take_from_mpirun(const wl_message_t *message)
{
    if (message->kind == WL_PMIX_ANSWER)
        wl_exchange_take_answer(message);
    else if (message->kind == WL_PMIX_LOOK_UP)
        wl_exchange_take_look_up(message);
    else if (message->kind == WL_PMIX_LOSE)
        wl_pmix_host_take_loss(message);
}

static void serve_mpirun(void)
{
    wl_connection_t in = {.fd = WL_HELPER_FD};
    wl_message_t message;
    while (in.fd >= 0) {
        struct pollfd readable = {.fd = in.fd, .events = POLLIN};
        poll(&readable, 1, -1);
        wl_connection_advance(&in);
        while (wl_connection_next(&in, &message))
            take_from_mpirun(&message);
    }
}

void wli_pmix_serve(const wli_pmix_service_t *service, int fd, pid_t parent)
{
    wl_connection_t connection;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before prctl took effect */
        _exit(1);
    wl_helper_become("weft-pmix", fd, true);
    wl_connection_open(WL_HELPER_FD, &connection); /* only for the descriptor's flags */
    int err = wl_pmix_host_open(service->plan, service->host, service->scratch);
    if (err == MPI_SUCCESS)
        err = tell_environments(&service->plan->placement.hosts[service->host]);
    tell_outcome(err);
    serve_mpirun();
    _exit(0);
}
