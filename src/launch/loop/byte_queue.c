/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/loop/byte_queue.h"

#include "base/memory.h"

#include <string.h>

enum { FIRST_CAPACITY = 4096 };

char *wl_queue_room(wl_byte_queue_t *queue, size_t bytes)
{
    size_t waiting = wl_queue_bytes(queue);
    if (queue->begin > 0 && queue->end + bytes > queue->capacity) {
        memmove(queue->data, queue->data + queue->begin, waiting);
        queue->begin = 0;
        queue->end = waiting;
    }
    if (waiting + bytes > queue->capacity) {
        size_t capacity = queue->capacity == 0 ? FIRST_CAPACITY : 2 * queue->capacity;
        while (capacity < waiting + bytes)
            capacity *= 2;
        char *data = weft_realloc(queue->data, capacity);
        if (data == NULL)
            return NULL;
        queue->data = data;
        queue->capacity = capacity;
    }
    return queue->data + queue->end;
}

bool wl_queue_append(wl_byte_queue_t *queue, const void *data, size_t bytes)
{
    if (bytes == 0)
        return true;
    char *room = wl_queue_room(queue, bytes);
    if (room == NULL)
        return false;
    memcpy(room, data, bytes);
    queue->end += bytes;
    return true;
}

void wl_queue_release(wl_byte_queue_t *queue)
{
    weft_free(queue->data);
    *queue = (wl_byte_queue_t){0};
}
