/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream_private.h"

#include "stream/conduit_private.h"
#include "object/errhandler.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/futex.h"
#include "base/memory.h"
#include "base/thread.h"

#include <pthread.h>
#include <string.h>

enum {
    /* Where the thread has a core to itself, it polls this long for the next arrival before it
     * sleeps: waking a thread takes 50 us, and operations often follow each other closely. */
    SPIN_NS = 20000,
    CHECK_MS = 20,
    LOOK_MS = 100, /* how often conduits are looked at, or streams */
};

static _Atomic(enqueued_t *) arrived; /* a stack */
static atomic_bool is_open;
static atomic_uint to_do; /* 1: there is work for the thread */
static enqueued_t *failed, **failed_end = &failed;
static bool has_news, is_ending, runs, has_conduits;
static int under_way, watchers;
static pthread_t thread;

/* ---- waking it ---- */

/* The thread sleeps on to_do, or in progress like every other thread. The fence orders this store
 * against the doorbell: a thread that goes to sleep in progress looks at to_do after it has set the
 * doorbell. */
static void ring_thread(void)
{
    if (atomic_exchange(&to_do, 1) == 0)
        weft_futex_wake(&to_do);
    atomic_thread_fence(memory_order_seq_cst);
    weft_progress_alert();
}

/* A poll function that ends the thread's wait in progress. In other threads that poll it returns 0,
 * as if nothing was done. */
static int stream_hear_of_it(bool everything)
{
    (void)everything;
    if (atomic_load_explicit(&to_do, memory_order_relaxed) != 0)
        has_news = true;
    return 0;
}

static void push(enqueued_t *record)
{
    enqueued_t *top = atomic_load(&arrived);
    do {
        record->next_arrived = top;
    } while (!atomic_compare_exchange_weak(&arrived, &top, record));
    ring_thread();
}

/* A program may, wrongly, launch a graph after MPI_Finalize; the record is gone then. */
void wefti_stream_arrived(void *owner)
{
    enqueued_t *record = owner;
    if (atomic_load(&is_open) && atomic_fetch_add(&record->arrivals, 1) == 0)
        push(record);
}

void wefti_stream_ring(void)
{
    if (atomic_load(&is_open))
        ring_thread();
}

void wefti_stream_dealt_with(enqueued_t *record)
{
    if (atomic_fetch_sub(&record->arrivals, 1) > 1)
        push(record);
}

void wefti_stream_failed(enqueued_t *record)
{
    record->next_arrived = NULL;
    *failed_end = record;
    failed_end = &record->next_arrived;
    ring_thread();
}

void wefti_stream_under_way(int more)
{
    under_way += more;
    if (under_way == 0)
        has_news = true;
}

/* ---- streams that do not go on ---- */

static void give_up_stream(weft_stream_t *stream, int error)
{
    while (!weft_list_is_empty(&stream->waiting))
        wefti_enqueued_give_up(WEFT_ELEMENT(stream->waiting.next, enqueued_t, link), error);
}

/* After an error of its context the driver does not call a stream's host functions, and does not
 * report that either. */
static int stream_check_streams(bool everything)
{
    static int64_t last_ms;
    int64_t now_ms = weft_clock_ms();
    (void)everything;
    if (now_ms - last_ms < CHECK_MS)
        return 0;
    last_ms = now_ms;
    for (weft_link_t *link = wefti_streams.next; link != &wefti_streams; link = link->next) {
        weft_stream_t *stream = WEFT_ELEMENT(link, weft_stream_t, link);
        if (stream->waiting_count == 0)
            continue;
        int err = weft_device->streams->check(stream->users);
        if (err == MPI_SUCCESS)
            continue;
        give_up_stream(stream, err);
        return 1; /* stop here, as the list may have changed */
    }
    return 0;
}

/* ---- what it does ---- */

/* Arrived records are begun in the order of arrival, so that messages of one stream do not overtake
 * each other. */
static void begin_arrived(void)
{
    enqueued_t *stack = atomic_exchange(&arrived, NULL), *first = NULL;
    while (stack != NULL) {
        enqueued_t *record = stack;
        stack = record->next_arrived;
        record->next_arrived = first;
        first = record;
    }
    while (first != NULL) {
        enqueued_t *record = first;
        first = record->next_arrived;
        wefti_enqueued_begin(record);
    }
}

static void remember(const enqueued_t *record)
{
    weft_stream_t *stream = record->stream;
    if (stream->error != MPI_SUCCESS)
        return;
    stream->error = record->request.status.MPI_ERROR;
    stream->why = record->request.why == NULL ? NULL : weft_strdup(record->request.why);
}

/* The error handler may be the program's, and may call MPI. */
static void tell_over(enqueued_t *record)
{
    weft_comm_t *comm = record->request.comm;
    int error = record->request.status.MPI_ERROR;
    weft_fail(error, "%s", record->request.why == NULL ? "" : record->request.why);
    weft_unlock();
    weft_error_raise(comm, error, record->name);
    weft_lock();
    if (!record->has_status && comm->errhandler == &weft_errors_return)
        remember(record);
    wefti_enqueued_finish(record);
}

static void tell_failures(void)
{
    while (failed != NULL) {
        enqueued_t *record = failed;
        failed = record->next_arrived;
        if (failed == NULL)
            failed_end = &failed;
        tell_over(record);
    }
}

/* Gates in graphs are shut by launches, which nobody tells of. */
static bool looks_at_streams(void)
{
    if (!wefti_enqueued_may_be_lost())
        return false;
    for (weft_link_t *link = wefti_streams.next; link != &wefti_streams; link = link->next) {
        if (WEFT_ELEMENT(link, weft_stream_t, link)->is_captured)
            return false;
    }
    return true;
}

/* Looks again when the time has come; *flag ends a wait in progress. */
static int stream_look_again(bool everything)
{
    static int64_t last_ms;
    int64_t now_ms = weft_clock_ms();
    (void)everything;
    if (now_ms - last_ms >= LOOK_MS) {
        last_ms = now_ms;
        has_news = true;
    }
    return 0;
}

static void make_progress(bool has_looks)
{
    if (!has_looks) {
        weft_progress_until(&has_news);
        return;
    }
    weft_progress_need(stream_look_again);
    weft_progress_await_silent(1);
    weft_progress_until(&has_news);
    weft_progress_await_silent(-1);
    weft_progress_remove(stream_look_again);
}

static void sleep_until_needed(bool has_looks)
{
    int64_t most_ns = has_looks ? (int64_t)LOOK_MS * 1000000 : 0;
    weft_lock_give();
    int64_t start = weft_world.is_oversubscribed ? 0 : weft_clock_ns();
    while (atomic_load(&to_do) == 0 && weft_clock_ns() - start < SPIN_NS)
        weft_cpu_relax();
    while (atomic_load(&to_do) == 0) {
        weft_futex_wait(&to_do, 0, most_ns);
        if (has_looks)
            break;
    }
    weft_lock_take();
}

static void *stream_thread_run(void *unused)
{
    weft_lock_take();
    while (!is_ending) {
        atomic_store(&to_do, 0);
        has_news = false;
        begin_arrived();
        wefti_tickets_collect();
        tell_failures();
        bool is_stuck = has_conduits && wefti_conduits_look(), has_streams = looks_at_streams();
        if (has_streams)
            stream_check_streams(true);
        /* a kernel may be waiting for that of a rank which waits for a message from this one */
        if (under_way > 0 || is_stuck)
            make_progress(has_conduits || has_streams);
        else
            sleep_until_needed(has_conduits || has_streams);
    }
    weft_lock_give();
    return unused;
}

/* ---- begin and end ---- */

static int create_thread(void)
{
    int error = weft_thread_start("weft-stream", 0, stream_thread_run, &thread);
    if (error != 0)
        return weft_fail(MPI_ERR_OTHER, "no thread for operations in streams: %s", strerror(error));
    return MPI_SUCCESS;
}

/* The calling thread is in an MPI call. If that call did not have to take the lock, it is the only
 * thread in MPI: it takes the lock here, and the call releases it at its end. */
static void lock_from_now_on(void)
{
    if (!weft_world.is_threaded)
        weft_lock_take();
    weft_world_set_threaded(true);
}

int wefti_stream_thread_start(void)
{
    if (runs)
        return MPI_SUCCESS;
    lock_from_now_on();
    int err = weft_progress_add(stream_hear_of_it);
    if (err != MPI_SUCCESS)
        return err;
    err = create_thread();
    if (err != MPI_SUCCESS) {
        weft_progress_remove(stream_hear_of_it);
        return err;
    }
    runs = true;
    atomic_store(&is_open, true);
    return MPI_SUCCESS;
}

bool wefti_stream_thread_runs(void)
{
    return runs;
}

void wefti_stream_watch_conduits(void)
{
    has_conduits = true;
    ring_thread();
}

void wefti_stream_thread_end(void)
{
    atomic_store(&is_open, false);
    is_ending = true;
    ring_thread();
    weft_unlock();
    pthread_join(thread, NULL);
    weft_lock();
    weft_progress_remove(stream_hear_of_it);
    runs = is_ending = has_conduits = false;
}

void wefti_stream_await(const bool *flag)
{
    if (watchers++ == 0)
        weft_progress_need(stream_check_streams);
    weft_progress_await_silent(1);
    weft_progress_until(flag);
    weft_progress_await_silent(-1);
    if (--watchers == 0)
        weft_progress_remove(stream_check_streams);
}
