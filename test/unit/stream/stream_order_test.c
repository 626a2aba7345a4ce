/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations in streams of a fake device: each begins when its stream has reached it, the stream
 * continues when it is over, streams do not wait for each other, and failures are remembered. The
 * device's streams are lists of calls and gates; run_stream() does what the driver does.
 */
#include "stream/enqueue.h"
#include "stream/stream_private.h"

#include "object/errhandler.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ENTRIES = 32, OPERATIONS = 3, STREAMS = 3, CAPTURE = 7 };

/* ---- the device ---- */

struct weft_user_stream {
    struct {
        void (*function)(void *owner); /* NULL: a gate */
        void *owner;
        unsigned number;
    } entries[ENTRIES];
    int count, next;
    atomic_uint word;
    unsigned gates;
    int trouble; /* the result of check() */
    bool is_captured;
    int launches; /* of the graph that the entries are, still to come */
};

static weft_user_stream_t users[STREAMS];

static int fake_open(const void *handle, size_t bytes, weft_user_stream_t **out)
{
    assert_int_equal(bytes, sizeof(int));
    *out = &users[*(const int *)handle];
    memset(*out, 0, sizeof(**out));
    return MPI_SUCCESS;
}

static void fake_close(weft_user_stream_t *stream)
{
    assert_int_equal(stream->next, stream->count);
}

static void fake_adopt(weft_user_stream_t *stream)
{
    (void)stream;
}

static int fake_capture(weft_user_stream_t *stream, uint64_t *out)
{
    *out = stream->is_captured ? CAPTURE : 0;
    return MPI_SUCCESS;
}

static int fake_make_gate(weft_user_stream_t *stream, bool is_repeated, weft_gate_t *out)
{
    assert_int_equal(is_repeated, stream->is_captured);
    *out =
        (weft_gate_t){.word = &stream->word, .number = ++stream->gates, .is_repeated = is_repeated};
    return MPI_SUCCESS;
}

static void fake_remove_gate(const weft_gate_t *gate)
{
    assert_true(gate->is_repeated);
}

static int fake_put_call(weft_user_stream_t *stream, void (*function)(void *owner), void *owner)
{
    assert_true(stream->count < ENTRIES);
    stream->entries[stream->count].function = function;
    stream->entries[stream->count++].owner = owner;
    return MPI_SUCCESS;
}

static int fake_put_gate(weft_user_stream_t *stream, const weft_gate_t *gate)
{
    assert_true(stream->count < ENTRIES);
    stream->entries[stream->count++].number = gate->number;
    return MPI_SUCCESS;
}

static bool fake_put_end(weft_user_stream_t *stream, void (*function)(void *owner), void *owner)
{
    (void)stream;
    (void)function;
    (void)owner;
    return false;
}

static void run_stream(weft_user_stream_t *stream);

/* A stream that launches a graph goes on at once, as the driver's may. */
static void fake_open_gate(const weft_gate_t *gate)
{
    atomic_store(gate->word, gate->number);
    if (gate->is_repeated)
        run_stream(WEFT_ELEMENT(gate->word, weft_user_stream_t, word));
}

static int fake_check(weft_user_stream_t *stream)
{
    return stream->trouble == MPI_SUCCESS ? MPI_SUCCESS
                                          : weft_fail(stream->trouble, "the fake device is gone");
}

/* Of streams that are still there at the end the tests have run all that was launched. */
static void fake_drain(weft_user_stream_t *stream)
{
    assert_int_equal(stream->launches, 0);
}

static const weft_device_stream_ops_t fake_streams = {.open = fake_open,
                                                      .close = fake_close,
                                                      .adopt = fake_adopt,
                                                      .capture = fake_capture,
                                                      .make_gate = fake_make_gate,
                                                      .remove_gate = fake_remove_gate,
                                                      .put_call = fake_put_call,
                                                      .put_end = fake_put_end,
                                                      .put_gate = fake_put_gate,
                                                      .open_gate = fake_open_gate,
                                                      .check = fake_check,
                                                      .drain = fake_drain};
static const weft_device_ops_t fake_device = {.streams = &fake_streams};

/* Runs the stream up to the first closed gate. */
static void run_stream(weft_user_stream_t *stream)
{
    while (stream->next < stream->count) {
        int at = stream->next;
        if (stream->entries[at].function == NULL &&
            atomic_load(&stream->word) < stream->entries[at].number)
            return;
        stream->next++;
        if (stream->entries[at].function != NULL)
            stream->entries[at].function(stream->entries[at].owner);
        else if (stream->launches > 0)
            atomic_store(&stream->word, 0); /* the gate shuts itself */
        if (stream->next == stream->count && stream->launches > 0 && --stream->launches > 0)
            stream->next = 0;
    }
}

/* ---- operations ---- */

typedef struct operation {
    enqueued_t *record;
    bool has_begun, is_dropped;
    int order; /* the order in which it began */
    int error; /* the error that its begin returns */
} operation_t;

static operation_t operations[OPERATIONS];
static int begun;

/* NULL: it was given up by a test that is over. */
static operation_t *operation_of(const enqueued_t *record)
{
    for (int i = 0; i < OPERATIONS; i++) {
        if (operations[i].record == record)
            return &operations[i];
    }
    return NULL;
}

static int fake_begin(enqueued_t *record)
{
    operation_t *its = operation_of(record);
    its->has_begun = true;
    its->order = begun++;
    weft_progress_notify();
    return its->error == MPI_SUCCESS ? MPI_SUCCESS : weft_fail(its->error, "it cannot begin");
}

static void fake_target_is_over(enqueued_t *record)
{
    (void)record;
}

static void fake_drop(enqueued_t *record)
{
    operation_t *its = operation_of(record);
    if (its != NULL)
        its->is_dropped = true;
    weft_progress_notify();
}

static void enqueue(operation_t *its, weft_stream_t *stream, bool has_gate)
{
    static const enqueued_ops_t ops = {fake_begin, fake_target_is_over, fake_drop};
    its->record = wefti_enqueued_create("MPIX_Fake_enqueue", &weft_comm_self, stream);
    assert_non_null(its->record);
    its->record->ops = &ops;
    its->record->status = MPI_STATUS_IGNORE;
    assert_int_equal(wefti_enqueued_put(its->record, has_gate), MPI_SUCCESS);
}

static void expect_begun(const operation_t *its, int order)
{
    wefti_stream_await(&its->has_begun);
    assert_int_equal(its->order, order);
}

static weft_stream_t *create_stream(int number)
{
    weft_stream_t *stream;
    assert_int_equal(weft_stream_create(&number, sizeof(number), &stream), MPI_SUCCESS);
    return stream;
}

static int forget_operations(void **state)
{
    (void)state;
    memset(operations, 0, sizeof(operations));
    begun = 0;
    return 0;
}

/* ---- tests ---- */

static void a_stream_waits_for_each(void **state)
{
    (void)state;
    weft_stream_t *stream = create_stream(0);
    for (int i = 0; i < OPERATIONS; i++)
        enqueue(&operations[i], stream, true);
    assert_int_equal(begun, 0); /* the stream has not reached any of them */
    for (int i = 0; i < OPERATIONS; i++) {
        run_stream(&users[0]);
        expect_begun(&operations[i], i);
        run_stream(&users[0]); /* the gate is closed */
        assert_int_equal(begun, i + 1);
        wefti_enqueued_over(operations[i].record, MPI_SUCCESS);
        assert_true(operations[i].is_dropped);
    }
    run_stream(&users[0]);
    assert_int_equal(users[0].next, users[0].count);
    assert_true(wefti_enqueued_is_idle());
    weft_stream_free(stream);
}

static void streams_go_side_by_side(void **state)
{
    (void)state;
    weft_stream_t *streams[STREAMS] = {create_stream(0), create_stream(1)};
    enqueue(&operations[0], streams[0], true);
    enqueue(&operations[1], streams[1], true);
    run_stream(&users[1]);
    expect_begun(&operations[1], 0);
    run_stream(&users[0]);
    expect_begun(&operations[0], 1);
    wefti_enqueued_over(operations[0].record, MPI_SUCCESS);
    run_stream(&users[0]);
    assert_int_equal(users[0].next, users[0].count);
    assert_int_not_equal(users[1].next, users[1].count);
    wefti_enqueued_over(operations[1].record, MPI_SUCCESS);
    run_stream(&users[1]);
    weft_stream_free(streams[0]);
    weft_stream_free(streams[1]);
}

/* The next call on the stream returns the failure, and the stream continues. */
static void failures_are_remembered(void **state)
{
    (void)state;
    weft_stream_t *stream = create_stream(0);
    operations[0].error = MPI_ERR_TRUNCATE;
    enqueue(&operations[0], stream, true);
    enqueue(&operations[1], stream, true);
    run_stream(&users[0]);
    wefti_stream_await(&operations[0].is_dropped);
    assert_int_equal(stream->error, MPI_ERR_TRUNCATE);
    assert_string_equal(stream->why, "it cannot begin");
    run_stream(&users[0]);
    expect_begun(&operations[1], 1);
    wefti_enqueued_over(operations[1].record, MPI_SUCCESS);
    run_stream(&users[0]);
    stream->error = MPI_SUCCESS; /* the error was returned */
    weft_stream_free(stream);
}

/* A stream whose context has an error never reaches the operations in it; each wait checks for
 * that. */
static void broken_streams_fail_what_waits(void **state)
{
    (void)state;
    weft_stream_t *stream = create_stream(0);
    enqueue(&operations[0], stream, true);
    users[0].trouble = MPI_ERR_OTHER;
    wefti_all_is_over = false;
    wefti_stream_await(&wefti_all_is_over);
    assert_int_equal(begun, 0);
    assert_int_equal(stream->error, MPI_ERR_OTHER);
    assert_string_equal(stream->why, "the fake device is gone");
    assert_int_equal(stream->waiting_count, 0);
    users[0].next = users[0].count;
    stream->error = MPI_SUCCESS;
    weft_stream_free(stream);
}

/* Makes a graph of an operation, whose request its caller keeps, and the wait for it. */
static void capture_with_wait(operation_t *its, weft_stream_t *stream)
{
    stream->users->is_captured = true;
    enqueue(its, stream, false);
    weft_object_retain(&its->record->request.object);
    MPI_Request handle = weft_request_handle(&its->record->request);
    weft_enqueue_wait_t wait = {.name = "MPIX_Wait_enqueue",
                                .count = 1,
                                .handles = &handle,
                                .statuses = MPI_STATUSES_IGNORE};
    assert_int_equal(weft_enqueue_wait(&wait), MPI_SUCCESS);
    stream->users->is_captured = false;
}

/* The gate of a wait opens in the midst of the end of what it waits for. Where the stream comes to
 * both again at that moment, they begin in their order all the same. */
static void a_graph_may_be_launched_again_at_once(void **state)
{
    (void)state;
    weft_stream_t *stream = create_stream(2);
    capture_with_wait(&operations[0], stream);
    users[2].launches = OPERATIONS;
    run_stream(&users[2]);
    for (int launch = 0; launch < OPERATIONS; launch++) {
        expect_begun(&operations[0], launch);
        assert_int_equal(users[2].launches, OPERATIONS - launch);
        operations[0].has_begun = false;
        wefti_enqueued_over(operations[0].record, MPI_SUCCESS);
    }
    wefti_stream_await(&wefti_all_is_over);
    assert_int_equal(users[2].launches, 0);
    weft_stream_free(stream);
}

static int end_streams(void **state)
{
    (void)state;
    weft_streams_end();
    weft_streams_close();
    weft_unlock();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stream_waits_for_each, forget_operations),
        cmocka_unit_test_setup(streams_go_side_by_side, forget_operations),
        cmocka_unit_test_setup(failures_are_remembered, forget_operations),
        cmocka_unit_test_setup(broken_streams_fail_what_waits, forget_operations),
        cmocka_unit_test_setup(a_graph_may_be_launched_again_at_once, forget_operations),
    };
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = weft_world.local_size = 1;
    weft_progress_open(NULL);
    if (weft_comm_open() != MPI_SUCCESS)
        return 1;
    weft_comm_self.errhandler = &weft_errors_return;
    weft_device = &fake_device;
    return cmocka_run_group_tests(tests, NULL, end_streams);
}
