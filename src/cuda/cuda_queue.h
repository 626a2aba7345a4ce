/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues: a stream of the library's own for each stream class of a device, and the events behind
 * the work in it.
 *
 *   stream   work work WRITE 7 work WRITE 8        word 7: in pinned memory, written by the device
 *   events    7 -> 8                                 reached: number <= word
 *
 * So a poll is one load, and takes no lock of the driver. Where the driver cannot write words from
 * streams, the driver's own events are used, and queried ever less often. A stream that has failed
 * writes nothing, so the driver is asked from time to time whether the stream still works.
 */
#ifndef WEFT_CUDA_CUDA_QUEUE_H
#define WEFT_CUDA_CUDA_QUEUE_H

#include "cuda/cuda_device.h"

enum { WEFT_SPARE_EVENTS = 16 };

struct weft_queue {
    weft_device_t *device;
    weft_cu_stream_t stream;
    _Atomic uint32_t *word; /* NULL: the driver's events are used */
    weft_cu_address_t word_address;
    uint32_t last_number; /* the number of the latest event */
    weft_cu_event_t spare_events[WEFT_SPARE_EVENTS];
    int spare_count;
    weft_event_t *first, **last;
    unsigned idle_polls;    /* polls since an event was last reached */
    unsigned next_question; /* the value of idle_polls at which the driver is asked next */
    int64_t idle_since_ms;  /* when the driver was first asked since then; 0: not yet */
    bool is_busy;           /* has events, so it is in the list of busy queues */
    weft_queue_t *next_busy;
    char why[320]; /* the latest failure */
};

weft_queue_t *wefti_queue_of(weft_device_t *device, weft_stream_class_t stream_class);

/** Does what weft_device->record() promises. */
int wefti_queue_record(weft_queue_t *queue, weft_event_t *event);

/** Called after a call failed to put work into the queue: waits until the earlier work is over, so
 * that the caller may release its buffers. Returns `err` and keeps its text. */
int wefti_queue_empty(weft_queue_t *queue, int err) __attribute__((cold));

void wefti_queues_release(weft_device_t *device, bool is_alive);

#endif
