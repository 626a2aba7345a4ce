/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues and events, by words that the device writes and by the driver's events; pinned slots and
 * scratch. */
#include "cuda/cuda_queue.h"

#include "cuda/cuda_memory.h"
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 100000 };

static weft_device_t *device;
static char *memory;

static int begin(void **state)
{
    weft_memory_t about;
    (void)state;
    memory = take_device(2 * BYTES);
    if (weft_device->look(memory, &about) != MPI_SUCCESS)
        return 1;
    device = about.device;
    return 0;
}

static int end(void **state)
{
    (void)state;
    give_device(memory);
    return 0;
}

static void test_there_and_back(void **state)
{
    (void)state;
    weft_queue_t *queue = weft_device->queue(device, WEFT_STREAM_QUICK);
    unsigned char *slot = weft_device->take_pinned(device, BYTES),
                  *other = weft_device->take_pinned(device, BYTES);
    for (int i = 0; i < BYTES; i++)
        slot[i] = (unsigned char)(i * 7 % 253);
    memset(other, 0, BYTES);
    assert_int_equal(weft_device->copy(queue, memory, slot, BYTES), MPI_SUCCESS);
    assert_int_equal(weft_device->copy(queue, memory + BYTES, memory, BYTES), MPI_SUCCESS);
    assert_int_equal(weft_device->copy(queue, other, memory + BYTES, BYTES), MPI_SUCCESS);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
    assert_memory_equal(slot, other, BYTES);
    weft_device->give_pinned(slot);
    weft_device->give_pinned(other);
}

enum { MARKS = 50 };

static int reached[MARKS], reached_count;

static void note(weft_event_t *event, int error)
{
    assert_int_equal(error, MPI_SUCCESS);
    reached[reached_count++] = (int)(intptr_t)event->owner;
}

static void test_events_in_order(void **state)
{
    static weft_event_t events[MARKS];
    (void)state;
    weft_queue_t *queue = weft_device->queue(device, WEFT_STREAM_BULK);
    char *slot = weft_device->take_pinned(device, BYTES);
    reached_count = 0;
    for (int i = 0; i < MARKS; i++) {
        assert_int_equal(weft_device->copy(queue, memory, slot, 64), MPI_SUCCESS);
        events[i] = (weft_event_t){.done = note, .owner = (void *)(intptr_t)i};
        assert_int_equal(weft_device->record(queue, &events[i]), MPI_SUCCESS);
    }
    weft_progress_until(&events[MARKS - 1].is_reached);
    assert_int_equal(reached_count, MARKS);
    for (int i = 0; i < MARKS; i++)
        assert_int_equal(reached[i], i);
    weft_device->give_pinned(slot);
}

static weft_event_t chain;
static int chain_left;

static void go_on(weft_event_t *event, int error)
{
    assert_int_equal(error, MPI_SUCCESS);
    if (--chain_left > 0) {
        assert_int_equal(weft_device->record(event->owner, event), MPI_SUCCESS);
    }
}

/* The function called at the end of an event may begin the next one, in the same memory. */
static void test_chain(void **state)
{
    (void)state;
    chain_left = 10;
    chain = (weft_event_t){.done = go_on, .owner = weft_device->queue(device, WEFT_STREAM_UP)};
    assert_int_equal(weft_device->record(chain.owner, &chain), MPI_SUCCESS);
    while (chain_left > 0)
        weft_progress();
}

static void test_slots(void **state)
{
    enum { COUNT = 2000 };
    static void *slots[COUNT];
    int count = 0;
    (void)state;
    while (count < COUNT &&
           (slots[count] = weft_device->take_pinned(device, WEFT_PINNED_SLOT)) != NULL)
        count++;
    assert_in_range(count, 16, COUNT - 1); /* the number is bounded, but never too small */
    void *small = weft_device->take_pinned(device, 100);
    assert_non_null(small); /* small slots have a class of their own */
    weft_device->give_pinned(small);
    weft_device->give_pinned(slots[--count]);
    assert_non_null(slots[count] = weft_device->take_pinned(device, WEFT_PINNED_SLOT - 1));
    for (int i = 0; i <= count; i++)
        weft_device->give_pinned(slots[i]);
    assert_null(weft_device->take_pinned(device, WEFT_PINNED_SLOT + 1));
}

static void test_scratch(void **state)
{
    weft_memory_t about;
    (void)state;
    char *first = weft_device->take_scratch(device, 1000),
         *second = weft_device->take_scratch(device, 1 << 20);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal((uintptr_t)first % 256, 0);
    assert_int_equal(weft_device->look(second, &about), MPI_SUCCESS);
    assert_int_equal(about.kind, WEFT_MEMORY_DEVICE);
    weft_device->give_scratch(device, second);
    assert_ptr_equal(weft_device->take_scratch(device, 1 << 20), second);
    weft_device->give_scratch(device, second);
    weft_device->give_scratch(device, first);
    assert_null(weft_device->take_scratch(device, (size_t)1 << 40));
}

static void test_refused(void **state)
{
    (void)state;
    weft_queue_t *queue = weft_device->queue(device, WEFT_STREAM_QUICK);
    assert_int_equal(weft_device->copy(queue, memory, memory + 64, 64), MPI_ERR_OTHER);
    assert_non_null(strstr(weft_fail_text(), "copying 64 bytes from 0x"));
    assert_non_null(strstr(weft_fail_text(), "cuMemcpyAsync failed: CUDA_ERROR_"));
    assert_int_equal(weft_device->copy(queue, memory, memory + 64, 64), MPI_SUCCESS);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, begin, end),
        cmocka_unit_test_setup_teardown(test_events_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_chain, begin, end),
        cmocka_unit_test_setup_teardown(test_slots, begin, end),
        cmocka_unit_test_setup_teardown(test_scratch, begin, end),
        cmocka_unit_test_setup_teardown(test_refused, begin, end),
    };
    /* The failing writes make later waits use the driver's events; the failing copy is the one
     * after those of the first two tests. */
    open_all("fail=cuStreamWriteValue32:30+,fail=cuMemcpyAsync:54");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_cuda_close();
    return failed;
}
