/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/loop/launch_message.h"

#include "base/log.h"

#include <endian.h>
#include <string.h>

void wl_message_take(const wl_message_rule_t *rules, int count, void *owner,
                     const wl_message_t *message)
{
    for (int i = 0; i < count; i++) {
        if (rules[i].kind != message->kind)
            continue;
        if (message->bytes >= rules[i].least_bytes)
            rules[i].take(owner, message);
        else
            WEFT_LOG(WEFT_WARN, "launch", "a message %s of node %d has %zu bytes, not %zu",
                     rules[i].name, message->from, message->bytes, rules[i].least_bytes);
        return;
    }
}

static const uint32_t no_text = UINT32_MAX;

void wl_write_bytes(wl_writer_t *writer, const void *data, size_t bytes)
{
    if (!wl_queue_append(&writer->body, data, bytes))
        writer->has_failed = true;
}

void wl_write_u32(wl_writer_t *writer, uint32_t value)
{
    value = htole32(value);
    wl_write_bytes(writer, &value, sizeof(value));
}

void wl_write_u64(wl_writer_t *writer, uint64_t value)
{
    value = htole64(value);
    wl_write_bytes(writer, &value, sizeof(value));
}

void wl_write_text(wl_writer_t *writer, const char *text)
{
    if (text == NULL) {
        wl_write_u32(writer, no_text);
        return;
    }
    size_t bytes = strlen(text) + 1;
    wl_write_u32(writer, (uint32_t)bytes);
    wl_write_bytes(writer, text, bytes);
}

void wl_writer_release(wl_writer_t *writer)
{
    wl_queue_release(&writer->body);
}

wl_reader_t wl_read_begin(const wl_message_t *message)
{
    return (wl_reader_t){.at = message->body, .left = message->bytes};
}

/* Take the next `bytes` bytes; NULL: there are fewer. */
static const char *message_take_bytes(wl_reader_t *reader, size_t bytes)
{
    if (reader->has_failed || bytes > reader->left) {
        reader->has_failed = true;
        return NULL;
    }
    const char *at = reader->at;
    reader->at += bytes;
    reader->left -= bytes;
    return at;
}

uint32_t wl_read_u32(wl_reader_t *reader)
{
    uint32_t value = 0;
    const char *at = message_take_bytes(reader, sizeof(value));
    if (at != NULL)
        memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

uint64_t wl_read_u64(wl_reader_t *reader)
{
    uint64_t value = 0;
    const char *at = message_take_bytes(reader, sizeof(value));
    if (at != NULL)
        memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

const char *wl_read_text(wl_reader_t *reader)
{
    uint32_t bytes = wl_read_u32(reader);
    if (bytes == no_text)
        return NULL;
    const char *at = message_take_bytes(reader, bytes);
    if (at != NULL && bytes > 0 && at[bytes - 1] == '\0')
        return at;
    reader->has_failed = true;
    return NULL;
}

uint32_t wl_read_count(wl_reader_t *reader, size_t item_bytes)
{
    uint32_t count = wl_read_u32(reader);
    if (count <= reader->left / item_bytes)
        return count;
    reader->has_failed = true;
    return 0;
}
