/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes on their way: appended at the end, taken from the beginning.
 *
 *   data: | taken | begin ... waiting ... end | room | capacity
 */
#ifndef WEFT_LAUNCH_LOOP_BYTE_QUEUE_H
#define WEFT_LAUNCH_LOOP_BYTE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wl_byte_queue {
    char *data; /* [capacity]; from the heap; NULL at first */
    size_t begin, end, capacity;
} wl_byte_queue_t;

/** How many bytes wait. */
static inline size_t wl_queue_bytes(const wl_byte_queue_t *queue)
{
    return queue->end - queue->begin;
}

/** The first waiting byte; NULL if there never was one. */
static inline char *wl_queue_front(const wl_byte_queue_t *queue)
{
    return queue->data != NULL ? queue->data + queue->begin : NULL;
}

/** Room for `bytes` bytes behind the end; the caller adds to `end` what it has written there. NULL:
 *  no memory. Waiting bytes may move. */
char *wl_queue_room(wl_byte_queue_t *queue, size_t bytes);

/** Append a copy; false: no memory, and nothing was appended. */
bool wl_queue_append(wl_byte_queue_t *queue, const void *data, size_t bytes);

/** Take `bytes` bytes away from the beginning. */
static inline void wl_queue_drop(wl_byte_queue_t *queue, size_t bytes)
{
    queue->begin += bytes;
    if (queue->begin == queue->end)
        queue->begin = queue->end = 0;
}

void wl_queue_release(wl_byte_queue_t *queue);

#endif
