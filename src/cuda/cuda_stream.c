/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_stream.h"

#include "cuda/catch_up.h"
#include "cuda/cuda_device.h"
#include "cuda/cuda_exchange.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_pack.h"
#include "cuda/cuda_queue.h"
#include "cuda/stream_work.h"
#include "cuda/take_question.h"
#include "cuda/watch_words.h"
#include "base/fail.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>

enum { LINE = 64, WORDS_IN_LINE = LINE / sizeof(atomic_uint) };

/* A word that gates wait for. */
typedef struct word {
    atomic_uint *at;
    atomic_uint *line;    /* not NULL: not pinned, and the first word of its line, which it frees */
    unsigned last_number; /* the number of the latest gate */
    weft_device_t *device;
    bool is_pinned;
    struct word *next;
} stream_word_t;

struct weft_user_stream {
    weft_device_t *device;
    weft_cu_stream_t stream;
    stream_word_t *word;
};

/* A gate at which a host function waits. That function frees it, unless it is repeated. */
struct weft_passage {
    atomic_uint *word;
    unsigned number;
    bool is_repeated;
    struct weft_passage *next; /* in the list of repeated ones */
};

weft_cu_stream_t wefti_stream_handle(const weft_user_stream_t *stream)
{
    return stream->stream;
}

weft_device_t *wefti_stream_device(const weft_user_stream_t *stream)
{
    return stream->device;
}

static stream_word_t *words, *spare_words;
static struct weft_passage *repeated_passages;
static int shut_gates; /* closed gates, without repeated ones */
static int repeated_gates;
static int open_streams;
bool (*weft_kernels_may_wait)(void);

bool wefti_streams_may_wait(void)
{
    return shut_gates > 0 || repeated_gates > 0 ||
           (weft_kernels_may_wait != NULL && weft_kernels_may_wait());
}

bool wefti_may_take(const weft_device_t *device)
{
    return !device->has_reserve || device->gives_beside_waits || !wefti_streams_may_wait();
}

/* ---- words ---- */

/* Makes the words of a line of memory, which are spare. Words are few while a stream waits, as no
 * memory can be pinned then, and each gate of a graph takes one: so a line has as many as fit. */
static void add_words(weft_device_t *device, bool is_pinned)
{
    atomic_uint *line = is_pinned ? (atomic_uint *)(void *)wefti_pinned_word(device)
                                  : weft_alloc_aligned(LINE, LINE);
    for (int i = 0; line != NULL && i < WORDS_IN_LINE; i++) {
        stream_word_t *word = weft_alloc(sizeof(*word));
        if (word == NULL)
            return;
        *word = (stream_word_t){.at = line + i,
                                .line = i == 0 && !is_pinned ? line : NULL,
                                .device = device,
                                .is_pinned = is_pinned,
                                .next = spare_words};
        atomic_store(word->at, 0);
        spare_words = word;
    }
}

static stream_word_t *take_spare(const weft_device_t *device, bool is_pinned)
{
    for (stream_word_t **at = &spare_words; *at != NULL; at = &(*at)->next) {
        stream_word_t *word = *at;
        if (word->device == device && word->is_pinned == is_pinned) {
            *at = word->next;
            word->next = words;
            words = word;
            return word;
        }
    }
    return NULL;
}

static stream_word_t *take_word(weft_device_t *device, bool is_pinned)
{
    stream_word_t *word = take_spare(device, is_pinned);
    if (word != NULL)
        return word;
    add_words(device, is_pinned);
    return take_spare(device, is_pinned);
}

static void spare(stream_word_t *word)
{
    stream_word_t **at = &words;
    while (*at != word)
        at = &(*at)->next;
    *at = word->next;
    word->next = spare_words;
    spare_words = word;
}

/* Tests whether streams can wait for words of this device, in a queue of the library, where the
 * test holds up no work of the program. */
static bool can_wait(const weft_user_stream_t *stream, const stream_word_t *word)
{
    weft_queue_t *queue = wefti_queue_of(stream->device, WEFT_STREAM_QUICK);
    weft_visit_t visit;
    if (queue == NULL || wefti_device_enter(stream->device, &visit) != MPI_SUCCESS)
        return false;
    weft_cu_result_t result = wefti_cu.cuStreamWaitValue32(
        queue->stream, (weft_cu_address_t)(uintptr_t)word->at, 0, WEFT_CU_WAIT_GEQ);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS;
}

static int stream_find_word(weft_user_stream_t *stream)
{
    bool has_waits = wefti_cu.cuStreamWaitValue32 != NULL && wefti_cu.cuStreamWriteValue32 != NULL;
    if (has_waits)
        stream->word = take_word(stream->device, true);
    if (stream->word != NULL && can_wait(stream, stream->word))
        return MPI_SUCCESS;
    if (stream->word != NULL)
        spare(stream->word);
    WEFT_LOG(WEFT_INFO, "cuda",
             "the driver cannot have streams wait for words: host functions wait in their place");
    stream->word = take_word(stream->device, false);
    return stream->word != NULL ? MPI_SUCCESS
                                : weft_fail(MPI_ERR_NO_MEM, "no memory to manage a stream");
}

/* ---- open and close ---- */

static int check_handle(const void *handle, size_t bytes, weft_cu_stream_t *out)
{
    if (bytes != sizeof(*out))
        return weft_fail(
            MPI_ERR_ARG,
            "info key \"value\" has %zu bytes, but must have the %zu of a cudaStream_t", bytes,
            sizeof(*out));
    memcpy(out, handle, sizeof(*out));
    if (!wefti_driver_find())
        return weft_fail(MPI_ERR_OTHER,
                         "info key \"type\" is \"cudaStream_t\", but the program does "
                         "not use CUDA: no driver is loaded and initialised");
    if (*out == WEFT_CU_STREAM_PER_THREAD)
        return weft_fail(
            MPI_ERR_ARG,
            "info key \"value\" is cudaStreamPerThread, which is another stream in each "
            "thread; give a stream made by cudaStreamCreate");
    if (wefti_cu.cuStreamGetCaptureInfo == NULL)
        return weft_fail(MPI_ERR_OTHER, "the CUDA driver has no cuStreamGetCaptureInfo_v2: it is "
                                        "older than 11.4");
    return MPI_SUCCESS;
}

/* Makes in advance all that takes memory from the driver: that may wait for all streams, which
 * never ends while one of them waits at a gate. */
static int make_ready(weft_device_t *device)
{
    if (device->has_reserve)
        return MPI_SUCCESS;
    if (!wefti_prepare_waits(device))
        return MPI_ERR_OTHER;
    wefti_memory_reserve(device);
    device->gives_beside_waits = wefti_gives_beside_waits(device);
    device->has_reserve = true;
    return MPI_SUCCESS;
}

/* The driver waits for the streams of all contexts of a device. */
static int make_contexts_ready(weft_device_t *device)
{
    int err = make_ready(device);
    for (weft_device_t *other = wefti_devices;
         other != NULL && err == MPI_SUCCESS && !wefti_streams_may_wait(); other = other->next) {
        if (other->number == device->number && wefti_device_lives(other))
            err = make_ready(other);
    }
    return err;
}

static int find_device(weft_user_stream_t *stream)
{
    weft_cu_context_t context = NULL;
    weft_cu_result_t result = wefti_cu.cuStreamGetCtx(stream->stream, &context);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuStreamGetCtx", "stream %p", (void *)stream->stream);
    return wefti_device_of_context(context, &stream->device);
}

static int stream_open(const void *handle, size_t bytes, weft_user_stream_t **out)
{
    weft_cu_stream_t given = NULL;
    int err = check_handle(handle, bytes, &given);
    if (err != MPI_SUCCESS)
        return err;
    weft_user_stream_t *stream = weft_alloc_zeroed(1, sizeof(*stream));
    if (stream == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to manage a stream");
    stream->stream = given;
    err = find_device(stream);
    if (err == MPI_SUCCESS)
        err = make_contexts_ready(stream->device);
    if (err == MPI_SUCCESS)
        err = stream_find_word(stream);
    if (err != MPI_SUCCESS) {
        weft_free(stream);
        return err;
    }
    open_streams++;
    *out = stream;
    return MPI_SUCCESS;
}

static void stream_close(weft_user_stream_t *stream)
{
    open_streams--;
    spare(stream->word);
    weft_free(stream);
}

/* The driver's two names of the legacy stream stand for that of the current context. */
static bool stream_is_beside(const weft_user_stream_t *stream, const void *handle)
{
    weft_cu_stream_t given;
    weft_cu_context_t context = NULL;
    memcpy(&given, handle, sizeof(given));
    return wefti_cu.cuStreamGetCtx(given, &context) == WEFT_CU_SUCCESS &&
           context == stream->device->context;
}

/* ---- work in it ---- */

static void stream_adopt(weft_user_stream_t *stream)
{
    wefti_cu.cuCtxSetCurrent(stream->device->context);
}

static int stream_find_capture(weft_user_stream_t *stream, uint64_t *out)
{
    int status = WEFT_CU_NOT_CAPTURED;
    weft_visit_t visit;
    *out = 0;
    int err = wefti_device_enter(stream->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result =
        wefti_cu.cuStreamGetCaptureInfo(stream->stream, &status, out, NULL, NULL, NULL);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuStreamGetCaptureInfo", "stream %p",
                                   (void *)stream->stream);
    if (status == WEFT_CU_SPOILT_CAPTURE)
        return weft_fail(MPI_ERR_OTHER,
                         "stream %p is part of a capture that an earlier error has "
                         "made invalid",
                         (void *)stream->stream);
    if (status == WEFT_CU_NOT_CAPTURED)
        *out = 0;
    return MPI_SUCCESS;
}

static int make_passage(const weft_gate_t *gate, struct weft_passage **out)
{
    struct weft_passage *passage = weft_alloc(sizeof(*passage));
    if (passage == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to manage a stream");
    *passage = (struct weft_passage){gate->word, gate->number, gate->is_repeated, NULL};
    *out = passage;
    return MPI_SUCCESS;
}

static int make_repeated_passage(weft_gate_t *gate)
{
    int err = make_passage(gate, &gate->passage);
    if (err != MPI_SUCCESS)
        return err;
    gate->passage->next = repeated_passages;
    repeated_passages = gate->passage;
    return MPI_SUCCESS;
}

static void remove_repeated_passage(struct weft_passage *passage)
{
    struct weft_passage **at = &repeated_passages;
    while (*at != passage)
        at = &(*at)->next;
    *at = passage->next;
    weft_free(passage);
}

/* ---- gates ---- */

/* The graph has a word of its own, as its stream resets it. Where there is no pinned one a host
 * function waits. */
static stream_word_t *word_for_graph(const weft_user_stream_t *stream)
{
    stream_word_t *word = stream->word->is_pinned ? take_word(stream->device, true) : NULL;
    return word != NULL ? word : take_word(stream->device, false);
}

static int stream_make_gate(weft_user_stream_t *stream, bool is_repeated, weft_gate_t *out)
{
    if (!is_repeated && open_streams == 1 && !wefti_streams_may_wait())
        wefti_catch_up(stream); /* others cannot be asked: the program may have destroyed them */
    stream_word_t *word = is_repeated ? word_for_graph(stream) : stream->word;
    if (word == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an operation in a graph");
    weft_gate_t gate = {.word = word->at,
                        .number = ++word->last_number,
                        .is_repeated = is_repeated,
                        .is_kept_by_host = !word->is_pinned};
    int err = gate.is_kept_by_host && is_repeated ? make_repeated_passage(&gate) : MPI_SUCCESS;
    if (err != MPI_SUCCESS)
        return err;
    repeated_gates += is_repeated;
    shut_gates += !is_repeated;
    *out = gate;
    return MPI_SUCCESS;
}

static void stream_remove_gate(const weft_gate_t *gate)
{
    stream_word_t *word = words;
    while (word->at != gate->word)
        word = word->next;
    if (gate->is_kept_by_host)
        remove_repeated_passage(gate->passage);
    spare(word);
    repeated_gates--;
}

static int stream_put_call(weft_user_stream_t *stream, void (*function)(void *owner), void *owner)
{
    weft_visit_t visit;
    int err = wefti_device_enter(stream->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuLaunchHostFunc(stream->stream, function, owner);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS ? MPI_SUCCESS
                                     : wefti_driver_failed(result, "cuLaunchHostFunc", "stream %p",
                                                           (void *)stream->stream);
}

/* Finds the graph that the stream is captured into; NULL if there is none. Runs in the stream's
 * context. */
static void *graph_of(const weft_user_stream_t *stream)
{
    int status = WEFT_CU_NOT_CAPTURED;
    uint64_t id;
    void *graph = NULL;
    weft_cu_result_t result =
        wefti_cu.cuStreamGetCaptureInfo(stream->stream, &status, &id, &graph, NULL, NULL);
    return result == WEFT_CU_SUCCESS && status != WEFT_CU_NOT_CAPTURED ? graph : NULL;
}

/* Returns false if the graph does not take the object. The object is then left alone: releasing it
 * would call the function. */
static bool hold_stream(void *graph, void (*function)(void *owner), void *owner)
{
    weft_cu_user_object_t object;
    return graph != NULL &&
           wefti_cu.cuUserObjectCreate(&object, owner, function, 1,
                                       WEFT_CU_OBJECT_NO_DESTRUCTOR_SYNC) == WEFT_CU_SUCCESS &&
           wefti_cu.cuGraphRetainUserObject(graph, object, 1, WEFT_CU_OBJECT_MOVE) ==
               WEFT_CU_SUCCESS;
}

static bool stream_put_end(weft_user_stream_t *stream, void (*function)(void *owner), void *owner)
{
    weft_visit_t visit;
    if (wefti_cu.cuUserObjectCreate == NULL || wefti_cu.cuGraphRetainUserObject == NULL ||
        wefti_device_enter(stream->device, &visit) != MPI_SUCCESS)
        return false;
    bool is_held = hold_stream(graph_of(stream), function, owner);
    wefti_device_leave(&visit);
    return is_held;
}

static bool is_stream_open(const struct weft_passage *passage, unsigned now)
{
    return passage->is_repeated ? now == passage->number : (int)(now - passage->number) >= 0;
}

/* Runs in a thread of the driver. */
static void stream_wait_at_passage(void *owner)
{
    struct weft_passage *passage = owner;
    unsigned now;
    while (!is_stream_open(passage, now = atomic_load(passage->word)))
        weft_futex_wait(passage->word, now, 0);
    if (passage->is_repeated)
        atomic_store(passage->word, 0);
    else
        weft_free(passage);
}

static weft_cu_result_t put_waits(weft_user_stream_t *stream, const weft_gate_t *gate)
{
    weft_cu_address_t address = (weft_cu_address_t)(uintptr_t)gate->word;
    weft_cu_result_t result =
        wefti_cu.cuStreamWaitValue32(stream->stream, address, gate->number,
                                     gate->is_repeated ? WEFT_CU_WAIT_EQ : WEFT_CU_WAIT_GEQ);
    if (result == WEFT_CU_SUCCESS && gate->is_repeated)
        result = wefti_cu.cuStreamWriteValue32(stream->stream, address, 0, 0);
    return result;
}

static int put_passage(weft_user_stream_t *stream, const weft_gate_t *gate)
{
    struct weft_passage *passage = gate->passage;
    int err = gate->is_repeated ? MPI_SUCCESS : make_passage(gate, &passage);
    if (err != MPI_SUCCESS)
        return err;
    err = stream_put_call(stream, stream_wait_at_passage, passage);
    if (err != MPI_SUCCESS && !gate->is_repeated)
        weft_free(passage);
    return err;
}

static int stream_put_gate(weft_user_stream_t *stream, const weft_gate_t *gate)
{
    weft_visit_t visit;
    if (gate->is_kept_by_host)
        return put_passage(stream, gate);
    int err = wefti_device_enter(stream->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = put_waits(stream, gate);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS ? MPI_SUCCESS
                                     : wefti_driver_failed(result, "cuStreamWaitValue32",
                                                           "stream %p", (void *)stream->stream);
}

/* A word never decreases, even where operations that failed to get a gate end in another order. The
 * fence makes what the operation wrote visible before the stream goes on. */
static void stream_open_gate(const weft_gate_t *gate)
{
    bool is_behind = (int)(gate->number - atomic_load(gate->word)) > 0;
    if (gate->is_repeated || is_behind)
        atomic_store(gate->word, gate->number);
    shut_gates -= !gate->is_repeated;
    if (gate->is_kept_by_host)
        weft_futex_wake(gate->word);
}

/* In a context that was destroyed there is nothing to wait for. */
static void stream_drain(weft_user_stream_t *stream)
{
    weft_visit_t visit;
    if (wefti_device_enter(stream->device, &visit) != MPI_SUCCESS)
        return;
    wefti_cu.cuCtxSynchronize();
    wefti_device_leave(&visit);
}

/* Asks a queue of the library in the same context instead of the stream itself: the program may
 * have destroyed the stream, and a stream that is being captured must not be asked. */
static int stream_check(weft_user_stream_t *stream)
{
    weft_visit_t visit;
    int err = wefti_device_enter(stream->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_queue_t *queue = wefti_queue_of(stream->device, WEFT_STREAM_QUICK);
    weft_cu_result_t result = wefti_cu.cuStreamQuery(queue->stream);
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS || result == WEFT_CU_NOT_READY)
        return MPI_SUCCESS;
    return wefti_driver_failed(result, "cuStreamQuery", "device %s", stream->device->pci);
}

const weft_device_stream_ops_t wefti_stream_ops = {
    .open = stream_open,
    .close = stream_close,
    .adopt = stream_adopt,
    .capture = stream_find_capture,
    .make_gate = stream_make_gate,
    .remove_gate = stream_remove_gate,
    .put_call = stream_put_call,
    .put_end = stream_put_end,
    .put_gate = stream_put_gate,
    .open_gate = stream_open_gate,
    .drain = stream_drain,
    .check = stream_check,
    .device = wefti_stream_device,
    .is_beside = stream_is_beside,
    .put_copy = wefti_stream_put_copy,
    .can_scale = wefti_stream_can_scale,
    .put_scaling = wefti_stream_put_scaling,
    .take_watch = wefti_stream_take_watch,
    .give_watch = wefti_stream_give_watch,
    .put_exchange = wefti_stream_put_exchange,
    .find_packer = wefti_stream_find_packer,
    .put_packing = wefti_stream_put_packing,
    .put_mark = wefti_stream_put_mark,
    .follow = wefti_stream_follow,
    .take_memory = wefti_stream_take_memory,
    .give_memory = wefti_stream_give_memory,
    .drop_mark = wefti_stream_drop_mark,
};

/* ---- the end ---- */

/* Pinned words are freed with their slabs. */
static void free_words(stream_word_t *word)
{
    for (stream_word_t *next; word != NULL; word = next) {
        next = word->next;
        weft_free(word->line);
        weft_free(word);
    }
}

void wefti_streams_close(void)
{
    free_words(words);
    free_words(spare_words);
    words = spare_words = NULL;
    shut_gates = 0;
    repeated_gates = 0;
    open_streams = 0;
    for (struct weft_passage *next; repeated_passages != NULL; repeated_passages = next) {
        next = repeated_passages->next;
        weft_free(repeated_passages);
    }
}
