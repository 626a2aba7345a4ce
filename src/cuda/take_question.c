/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/take_question.h"

#include "cuda/cuda_memory.h"
#include "cuda/cuda_queue.h"
#include "base/clock.h"
#include "base/log.h"
#include "mpi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { PATIENCE_NS = 100000000, DEVICE_BYTES = 4 << 20, HOST_BYTES = 64 << 10 };

typedef struct take_question {
    weft_device_t *device;
    weft_cu_address_t memory;
    void *pinned;
    atomic_bool is_over;
} take_question_t;

/* Runs in a thread of its own, since it may wait for what the other thread does. */
static void *take(void *arg)
{
    take_question_t *question = arg;
    weft_visit_t visit;
    if (wefti_device_enter(question->device, &visit) == MPI_SUCCESS) {
        wefti_cu.cuMemAlloc(&question->memory, DEVICE_BYTES);
        wefti_cu.cuMemHostAlloc(&question->pinned, HOST_BYTES, 0);
        wefti_device_leave(&visit);
    }
    atomic_store(&question->is_over, true);
    return NULL;
}

/* Returns whether it was over before the stream went on. */
static bool is_over_soon(const take_question_t *question)
{
    int64_t end_ns = weft_clock_ns() + PATIENCE_NS;
    while (!atomic_load(&question->is_over)) {
        if (weft_clock_ns() > end_ns)
            return false;
        sched_yield();
    }
    return true;
}

static bool shut(const weft_queue_t *queue, const atomic_uint *word)
{
    weft_visit_t visit;
    if (wefti_device_enter(queue->device, &visit) != MPI_SUCCESS)
        return false;
    weft_cu_result_t result = wefti_cu.cuStreamWaitValue32(
        queue->stream, (weft_cu_address_t)(uintptr_t)word, 1, WEFT_CU_WAIT_GEQ);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS;
}

static void give_back(const take_question_t *question)
{
    weft_visit_t visit;
    if (wefti_device_enter(question->device, &visit) != MPI_SUCCESS)
        return;
    if (question->memory != 0)
        wefti_cu.cuMemFree(question->memory);
    if (question->pinned != NULL)
        wefti_cu.cuMemFreeHost(question->pinned);
    wefti_device_leave(&visit);
}

/* The queue waits for the word, which this opens. */
static bool ask_to_take(weft_device_t *device, atomic_uint *word)
{
    take_question_t question = {.device = device};
    pthread_t thread;
    bool is_asked = pthread_create(&thread, NULL, take, &question) == 0;
    bool is_given = is_asked && is_over_soon(&question);
    atomic_store(word, 1);
    if (is_asked)
        pthread_join(thread, NULL);
    give_back(&question);
    return is_given && question.memory != 0 && question.pinned != NULL;
}

bool wefti_gives_beside_waits(weft_device_t *device)
{
    bool is_given = false;
    weft_queue_t *queue = wefti_queue_of(device, WEFT_STREAM_QUICK);
    atomic_uint *word = wefti_cu.cuStreamWaitValue32 == NULL || queue == NULL
                            ? NULL
                            : (atomic_uint *)(void *)wefti_pinned_word(device);
    if (word == NULL)
        return false;
    atomic_store(word, 0);
    if (shut(queue, word))
        is_given = ask_to_take(device, word);
    weft_queue_wait(queue);
    wefti_pinned_give_word(device, (uint32_t *)(void *)word);
    WEFT_LOG(WEFT_INFO, "cuda", "the driver %s memory while streams wait",
             is_given ? "gives" : "does not give");
    return is_given;
}
