/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/external32.h"

#include "datatype/external_form_private.h"
#include "datatype/signature_private.h"

#include <stdint.h>

/* Native data go through a buffer in which no basic element is cut off, unless they are one run. */
enum { NATIVE_BYTES = 8192 };

typedef struct native_stream {
    const weft_elements_t *elements;
    char *at;         /* the next byte */
    size_t available; /* bytes that may be read or written there */
    size_t done;      /* bytes of the stream before it */
    bool is_direct;   /* `at` is in the user's buffer */
    char buffer[NATIVE_BYTES];
} native_stream_t;

static void native_open(native_stream_t *stream, const weft_elements_t *elements)
{
    ptrdiff_t offset;
    stream->elements = elements;
    stream->at = stream->buffer;
    stream->available = 0;
    stream->done = 0;
    stream->is_direct =
        weft_type_span(elements->type, elements->count, &offset, &stream->available);
    if (stream->is_direct)
        stream->at = (char *)((uintptr_t)elements->buf + (uintptr_t)offset);
}

static void native_fill(native_stream_t *stream)
{
    const weft_elements_t *elements = stream->elements;
    stream->at = stream->buffer;
    stream->available = weft_pack(elements->buf, elements->count, elements->type, stream->done,
                                  stream->buffer, NATIVE_BYTES);
}

/* Unpack what is in the buffer. */
static void native_flush(native_stream_t *stream)
{
    const weft_elements_t *elements = stream->elements;
    if (stream->is_direct)
        return;
    size_t bytes = (size_t)(stream->at - stream->buffer);
    weft_unpack(elements->buf, elements->count, elements->type, stream->done - bytes,
                stream->buffer, bytes);
    stream->at = stream->buffer;
    stream->available = NATIVE_BYTES;
}

/* Elements of `bytes` bytes that are in the buffer, or have room there: at least one. */
static size_t native_count(const native_stream_t *stream, size_t bytes, size_t count)
{
    size_t available = stream->available / bytes;
    return available < count ? available : count;
}

static void native_skip(native_stream_t *stream, size_t bytes)
{
    stream->at += bytes;
    stream->available -= bytes;
    stream->done += bytes;
}

int weft_external_pack(const weft_type_t *type, size_t count, const weft_elements_t *native,
                       char *out)
{
    native_stream_t stream;
    weft_signature_t signature;
    weft_same_elements_t same;
    native_open(&stream, native);
    weft_signature_open(&signature, type, count);
    while (weft_signature_next(&signature, &same)) {
        weft_external_form_t form = weft_external_form_of(same.type);
        while (same.count > 0) {
            if (stream.available < same.type->size)
                native_fill(&stream);
            size_t some = native_count(&stream, same.type->size, same.count);
            weft_external_form_pack(&form, stream.at, out, some);
            native_skip(&stream, some * same.type->size);
            out += some * weft_external_form_bytes(&form);
            same.count -= some;
        }
    }
    return weft_signature_close(&signature);
}

int weft_external_unpack(const weft_type_t *type, size_t count, const weft_elements_t *native,
                         const char *in)
{
    native_stream_t stream;
    weft_signature_t signature;
    weft_same_elements_t same;
    native_open(&stream, native);
    weft_signature_open(&signature, type, count);
    while (weft_signature_next(&signature, &same)) {
        weft_external_form_t form = weft_external_form_of(same.type);
        while (same.count > 0) {
            if (stream.available < same.type->size)
                native_flush(&stream);
            size_t some = native_count(&stream, same.type->size, same.count);
            weft_external_form_unpack(&form, in, stream.at, some);
            native_skip(&stream, some * same.type->size);
            in += some * weft_external_form_bytes(&form);
            same.count -= some;
        }
    }
    native_flush(&stream);
    return weft_signature_close(&signature);
}
