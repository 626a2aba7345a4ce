/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to and from a socket:
 *
 *   | kind | number | key_bytes | data_bytes | key | data |    the first four are uint32_t
 */
#include "pmi/hub_private.h"

#include "base/memory.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_WORDS = 4, HEAD_BYTES = HEAD_WORDS * 4, READ_BYTES = 4096 };

void wefti_hub_stream_close(hub_stream_t *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    weft_free(stream->in);
    weft_free(stream->out);
    *stream = (hub_stream_t){.fd = -1};
}

/* Make room for `bytes` more behind *to; what lies before *from is no longer needed. */
static bool stream_reserve(uint8_t **buffer, size_t *from, size_t *to, size_t *room, size_t bytes)
{
    if (*from > 0)
        memmove(*buffer, *buffer + *from, *to - *from);
    *to -= *from;
    *from = 0;
    if (*room - *to >= bytes)
        return true;
    size_t wanted = (*to + bytes) + (*to + bytes) / 2;
    uint8_t *larger = weft_realloc(*buffer, wanted);
    if (larger == NULL)
        return false;
    *buffer = larger;
    *room = wanted;
    return true;
}

bool wefti_hub_stream_read(hub_stream_t *stream)
{
    for (;;) {
        if (!stream_reserve(&stream->in, &stream->in_from, &stream->in_to, &stream->in_room,
                            READ_BYTES))
            return false;
        size_t room = stream->in_room - stream->in_to;
        ssize_t got = recv(stream->fd, stream->in + stream->in_to, room, MSG_DONTWAIT);
        if (got > 0)
            stream->in_to += (size_t)got;
        else if (got == 0)
            return false;
        else if (errno != EINTR)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (got > 0 && (size_t)got < room)
            return true;
    }
}

int wefti_hub_stream_next(hub_stream_t *stream, hub_frame_t *out)
{
    uint32_t head[HEAD_WORDS];
    size_t there = stream->in_to - stream->in_from;
    if (there < HEAD_BYTES)
        return 0;
    const uint8_t *at = stream->in + stream->in_from;
    memcpy(head, at, HEAD_BYTES);
    uint32_t key_bytes = le32toh(head[2]), data_bytes = le32toh(head[3]);
    if (key_bytes > HUB_KEY_MOST || data_bytes > HUB_DATA_MOST)
        return -1;
    size_t bytes = HEAD_BYTES + (size_t)key_bytes + data_bytes;
    if (there < bytes)
        return 0;
    *out = (hub_frame_t){.kind = (hub_kind_t)le32toh(head[0]),
                         .number = (int32_t)le32toh(head[1]),
                         .key = at + HEAD_BYTES,
                         .data = at + HEAD_BYTES + key_bytes,
                         .key_bytes = key_bytes,
                         .data_bytes = data_bytes};
    stream->in_from += bytes;
    return 1;
}

bool wefti_hub_stream_flush(hub_stream_t *stream)
{
    while (stream->out_from < stream->out_to) {
        ssize_t sent = send(stream->fd, stream->out + stream->out_from,
                            stream->out_to - stream->out_from, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            stream->out_from += (size_t)sent;
        else if (errno != EINTR)
            return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    return true;
}

static void append_bytes(hub_stream_t *stream, const void *data, size_t bytes)
{
    if (bytes > 0)
        memcpy(stream->out + stream->out_to, data, bytes);
    stream->out_to += bytes;
}

bool wefti_hub_stream_send(hub_stream_t *stream, const hub_frame_t *frame)
{
    uint32_t head[HEAD_WORDS] = {htole32((uint32_t)frame->kind), htole32((uint32_t)frame->number),
                                 htole32(frame->key_bytes), htole32(frame->data_bytes)};
    if (!stream_reserve(&stream->out, &stream->out_from, &stream->out_to, &stream->out_room,
                        HEAD_BYTES + (size_t)frame->key_bytes + frame->data_bytes))
        return false;
    append_bytes(stream, head, HEAD_BYTES);
    append_bytes(stream, frame->key, frame->key_bytes);
    append_bytes(stream, frame->data, frame->data_bytes);
    return wefti_hub_stream_flush(stream);
}
