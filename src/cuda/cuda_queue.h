/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues: a stream of ours for each stream_class of a device, and the events behind the work in it.
 *
 *   stream   work work WRITE 7 work WRITE 8        word 7: in pinned memory, written by the device
 *   events    7 -> 8                                 reached: number <= word
 *
 * So a poll is one load, and no lock of the driver's is touched. Where the driver cannot write
 * words from streams, events are events, queried ever less often. As a failed stream writes
 * nothing, the driver is asked now and then whether it still goes on.
 */
#ifndef WEFT_CUDA_CUDA_QUEUE_H
#define WEFT_CUDA_CUDA_QUEUE_H

#include "cuda/cuda_device.h"

enum { WEFT_SPARE_EVENTS = 16 };

struct weft_queue {
    weft_device_t *device;
    weft_cu_stream_t stream;
    _Atomic uint32_t *word; /* NULL: events are events */
    weft_cu_address_t word_address;
    uint32_t last_number; /* of a event */
    weft_cu_event_t spare_events[WEFT_SPARE_EVENTS];
    int spare_count;
    weft_event_t *first, **last;
    unsigned idle_polls;    /* since a event was reached */
    unsigned next_question; /* idle_polls at which the driver is asked */
    bool is_busy;           /* has events, and so is in the list of those */
    weft_queue_t *next_busy;
    char why[320]; /* what failed last */
};

weft_queue_t *wefti_queue_of(weft_device_t *device, weft_stream_class_t stream_class);

/** As weft_device->record(). */
int wefti_queue_record(weft_queue_t *queue, weft_event_t *event);

/** A call failed that was to put work into the queue: wait until what was put in before is over, so
 * that the caller may give up its buffers. Returns `err`, the text stays. */
int wefti_queue_empty(weft_queue_t *queue, int err) __attribute__((cold));

void wefti_queues_release(weft_device_t *device, bool is_alive);

#endif
