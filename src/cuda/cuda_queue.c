/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_queue.h"

#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "runtime/progress.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    /* The number of polls without progress before the driver is asked. It is small for events,
     * which only the driver knows of, and large where a word tells, as the driver is then only
     * asked for failures. It doubles after each question. */
    EVENT_QUESTION = 1,
    EVENT_QUESTION_MOST = 64,
    WORD_QUESTION = 4096,
    WORD_QUESTION_MOST = 1 << 16,
    POLLS_AWAKE = 100,
    SUSPICION_MS = 5000,
};

static weft_queue_t *busy;

/* ---- making ---- */

static int create_class_stream(weft_queue_t *queue, weft_stream_class_t stream_class)
{
    int least = 0, greatest = 0;
    weft_visit_t visit;
    int err = wefti_device_enter(queue->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    wefti_cu.cuCtxGetStreamPriorityRange(&least, &greatest);
    weft_cu_result_t result = wefti_cu.cuStreamCreateWithPriority(
        &queue->stream, WEFT_CU_STREAM_NON_BLOCKING,
        stream_class == WEFT_STREAM_QUICK || stream_class == WEFT_STREAM_EXCHANGE ? greatest
                                                                                  : least);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuStreamCreateWithPriority", "a queue of device %s",
                                   queue->device->pci);
    return MPI_SUCCESS;
}

static weft_queue_t *create_queue(weft_device_t *device, weft_stream_class_t stream_class)
{
    weft_queue_t *queue = weft_alloc_zeroed(1, sizeof(*queue));
    if (queue == NULL) {
        weft_fail(MPI_ERR_NO_MEM, "no memory to manage a stream");
        return NULL;
    }
    queue->device = device;
    queue->last = &queue->first;
    if (create_class_stream(queue, stream_class) != MPI_SUCCESS) {
        weft_free(queue);
        return NULL;
    }
    if (wefti_cu.cuStreamWriteValue32 != NULL)
        queue->word = (_Atomic uint32_t *)wefti_pinned_word(device);
    if (queue->word != NULL) {
        atomic_store(queue->word, 0);
        queue->word_address = (weft_cu_address_t)(uintptr_t)queue->word;
    }
    return queue;
}

weft_queue_t *wefti_queue_of(weft_device_t *device, weft_stream_class_t stream_class)
{
    if (device->queues[stream_class] == NULL)
        device->queues[stream_class] = create_queue(device, stream_class);
    return device->queues[stream_class];
}

/* ---- events ---- */

static weft_cu_result_t write_word(weft_queue_t *queue, weft_event_t *event)
{
    event->driver_event = NULL;
    event->number = queue->last_number + 1;
    weft_cu_result_t result =
        wefti_cu.cuStreamWriteValue32(queue->stream, queue->word_address, event->number, 0);
    if (result == WEFT_CU_SUCCESS)
        queue->last_number = event->number;
    return result;
}

static void spare_driver_event(weft_queue_t *queue, weft_cu_event_t driver_event)
{
    if (queue->spare_count < WEFT_SPARE_EVENTS)
        queue->spare_events[queue->spare_count++] = driver_event;
    else
        wefti_cu.cuEventDestroy(driver_event);
}

static weft_cu_result_t record_event(weft_queue_t *queue, weft_event_t *event)
{
    weft_cu_event_t driver_event = NULL;
    weft_cu_result_t result = WEFT_CU_SUCCESS;
    if (queue->spare_count > 0)
        driver_event = queue->spare_events[--queue->spare_count];
    else
        result = wefti_cu.cuEventCreate(&driver_event, WEFT_CU_EVENT_DISABLE_TIMING);
    if (result != WEFT_CU_SUCCESS)
        return result;
    event->driver_event = driver_event;
    result = wefti_cu.cuEventRecord(driver_event, queue->stream);
    if (result != WEFT_CU_SUCCESS)
        spare_driver_event(queue, driver_event);
    return result;
}

static unsigned first_question(const weft_event_t *event)
{
    return event->driver_event != NULL ? EVENT_QUESTION : WORD_QUESTION;
}

static int queue_poll_events(bool everything);

static void note_busy(weft_queue_t *queue)
{
    weft_queue_t **at = &busy;
    while (*at != NULL)
        at = &(*at)->next_busy;
    weft_progress_await_silent(1);
    *at = queue; /* the queue goes to the end, as a poll may be walking through the list */
    queue->next_busy = NULL;
    queue->is_busy = true;
    weft_progress_need(queue_poll_events);
}

static void append_entry_to_queue(weft_queue_t *queue, weft_event_t *event)
{
    if (queue->first == NULL) {
        queue->last = &queue->first;
        queue->idle_polls = 0;
        queue->next_question = first_question(event);
    }
    event->next = NULL;
    *queue->last = event;
    queue->last = &event->next;
    if (!queue->is_busy)
        note_busy(queue);
}

int wefti_queue_record(weft_queue_t *queue, weft_event_t *event)
{
    weft_visit_t visit;
    event->is_reached = false;
    event->error = MPI_SUCCESS;
    int err = wefti_device_enter(queue->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = WEFT_CU_INVALID_VALUE;
    if (queue->word != NULL)
        result = write_word(queue, event);
    if (result != WEFT_CU_SUCCESS)
        result = record_event(queue, event);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS)
        return wefti_queue_empty(
            queue,
            wefti_driver_failed(result, "cuEventRecord", "work on device %s", queue->device->pci));
    append_entry_to_queue(queue, event);
    return MPI_SUCCESS;
}

int wefti_queue_empty(weft_queue_t *queue, int err)
{
    weft_visit_t visit;
    if (wefti_device_enter(queue->device, &visit) != MPI_SUCCESS)
        return err;
    wefti_cu.cuStreamSynchronize(queue->stream);
    wefti_device_leave(&visit);
    return err;
}

/* ---- polling ---- */

static void reach_queue(weft_queue_t *queue, weft_event_t *event, int error)
{
    if (event->driver_event != NULL)
        spare_driver_event(queue, event->driver_event);
    event->error = error;
    event->why = queue->why;
    event->is_reached = true;
    weft_progress_notify();
    if (error != MPI_SUCCESS)
        weft_fail(error, "%s", queue->why);
    if (event->done != NULL)
        event->done(event, error);
}

static void reach_first(weft_queue_t *queue)
{
    weft_event_t *event = queue->first;
    queue->first = event->next;
    reach_queue(queue, event, MPI_SUCCESS);
}

/* The acquire order makes what the device wrote before the word visible after it. */
static bool is_written(const weft_queue_t *queue, const weft_event_t *event)
{
    if (event->driver_event != NULL)
        return false;
    uint32_t reached = atomic_load_explicit(queue->word, memory_order_acquire);
    return (int32_t)(reached - event->number) >= 0;
}

/* All work in the stream ends before an event is reported as failed. Otherwise the device could
 * still write into memory that its owner has reused. */
static int fail_all(weft_queue_t *queue, weft_cu_result_t result)
{
    int failed = 0;
    int err = wefti_driver_failed(result, "cuStreamQuery", "work on device %s", queue->device->pci);
    snprintf(queue->why, sizeof(queue->why), "%s", weft_fail_text());
    WEFT_LOG(WEFT_INFO, "cuda", "%s", queue->why); /* those who wait for the events tell of it */
    wefti_queue_empty(queue, err);
    weft_event_t *event = queue->first;
    queue->first = NULL;
    for (weft_event_t *next; event != NULL; event = next) {
        next = event->next;
        reach_queue(queue, event, err);
        failed++;
    }
    return failed;
}

static weft_cu_result_t ask_driver(weft_queue_t *queue)
{
    weft_visit_t visit;
    if (wefti_device_enter(queue->device, &visit) != MPI_SUCCESS)
        return WEFT_CU_CONTEXT_IS_DESTROYED;
    weft_cu_event_t driver_event = queue->first->driver_event;
    weft_cu_result_t result = driver_event != NULL ? wefti_cu.cuEventQuery(driver_event)
                                                   : wefti_cu.cuStreamQuery(queue->stream);
    wefti_device_leave(&visit);
    return result;
}

/* Kernels of exchanges wait for other ranks, for a long time perhaps. */
static void suspect_streams(weft_queue_t *queue)
{
    int64_t now_ms = weft_clock_ms();
    if (queue->idle_since_ms == 0)
        queue->idle_since_ms = now_ms;
    if (now_ms - queue->idle_since_ms < SUSPICION_MS || !wefti_streams_may_wait() ||
        queue == queue->device->queues[WEFT_STREAM_EXCHANGE] ||
        !weft_world_may_warn(WEFT_WARNING_HELD_QUEUE))
        return;
    WEFT_LOG(WEFT_WARN, "cuda",
             "work of this library on device %s has not ended for %d seconds, and a stream of the "
             "program waits for the library: perhaps they share a hardware queue. Then set "
             "CUDA_DEVICE_MAX_CONNECTIONS (8 if not set, 32 at most) to more than the program has "
             "streams, or use fewer streams",
             queue->device->pci, SUSPICION_MS / 1000);
}

static void ask_later(weft_queue_t *queue)
{
    suspect_streams(queue);
    unsigned most = queue->first->driver_event != NULL ? EVENT_QUESTION_MOST : WORD_QUESTION_MOST;
    unsigned pause = queue->idle_polls < most ? queue->idle_polls : most;
    queue->next_question = queue->idle_polls + pause;
}

static int poll_queue(weft_queue_t *queue)
{
    int reached = 0;
    for (; queue->first != NULL && is_written(queue, queue->first); reached++)
        reach_first(queue);
    if (reached == 0 && queue->first != NULL && ++queue->idle_polls >= queue->next_question) {
        weft_cu_result_t result = ask_driver(queue);
        if (result != WEFT_CU_SUCCESS && result != WEFT_CU_NOT_READY)
            return fail_all(queue, result);
        if (result == WEFT_CU_NOT_READY) {
            ask_later(queue);
            return 0;
        }
        reach_first(queue);
        reached++;
    }
    if (reached > 0)
        queue->idle_since_ms = 0;
    if (reached > 0 && queue->first != NULL) {
        queue->idle_polls = 0;
        queue->next_question = first_question(queue->first);
    }
    return reached;
}

/* A device sets no doorbell, so sleeps are short while it works, and there are none while it may be
 * about to finish. */
static int queue_poll_events(bool everything)
{
    int done = 0;
    for (weft_queue_t **at = &busy; *at != NULL;) {
        weft_queue_t *queue = *at;
        done += poll_queue(queue);
        if (queue->first != NULL) {
            done += everything && queue->idle_polls < POLLS_AWAKE;
            at = &queue->next_busy;
            continue;
        }
        *at = queue->next_busy;
        queue->is_busy = false;
        weft_progress_await_silent(-1);
    }
    if (busy == NULL)
        weft_progress_remove(queue_poll_events);
    return done;
}

/* ---- the end ---- */

static void leave_list(weft_queue_t *queue)
{
    weft_queue_t **at = &busy;
    while (*at != NULL && *at != queue)
        at = &(*at)->next_busy;
    if (*at == NULL)
        return;
    *at = queue->next_busy;
    weft_progress_await_silent(-1);
}

static void release_queue(weft_queue_t *queue, bool is_alive)
{
    leave_list(queue);
    for (int i = 0; is_alive && i < queue->spare_count; i++)
        wefti_cu.cuEventDestroy(queue->spare_events[i]);
    if (is_alive)
        wefti_cu.cuStreamDestroy(queue->stream);
    weft_free(queue);
}

void wefti_queues_release(weft_device_t *device, bool is_alive)
{
    for (int i = 0; i < WEFT_STREAM_CLASSES; i++) {
        if (device->queues[i] != NULL)
            release_queue(device->queues[i], is_alive);
        device->queues[i] = NULL;
    }
    if (busy == NULL)
        weft_progress_remove(queue_poll_events);
}
