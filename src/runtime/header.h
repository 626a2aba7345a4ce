/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands in front of each packet's payload. */
#ifndef WEFT_RUNTIME_HEADER_H
#define WEFT_RUNTIME_HEADER_H

#include <stddef.h>
#include <stdint.h>

/** The kind of packets that need no answer: nothing goes on at their sender when they are taken. A
 * receiver that sleeps for others may leave them where they are. */
enum { WEFT_UNANSWERED = 1 };

/** Of the members that the layer above sets, a transport reads only `kind` and
 * `bytes`. */
typedef struct weft_header {
    uint8_t kind;     /* a packet kind of the layer above, below 128 */
    uint8_t lead;     /* of the transport, on its way: bytes between this and the payload */
    uint32_t bytes;   /* of the payload, below 16 MiB */
    uint32_t context; /* of the communicator, or the low half of a request's number */
    int32_t tag;      /* of the message, or the high half */
} weft_header_t;

static inline weft_header_t weft_header(uint8_t kind, uint32_t bytes, uint32_t context, int32_t tag)
{
    return (weft_header_t){.kind = kind, .bytes = bytes, .context = context, .tag = tag};
}

/** A header that carries a number of 64 bits (of a request, say) where others have context and tag.
 */
static inline weft_header_t weft_header_for(uint8_t kind, uint64_t number, size_t bytes)
{
    return (weft_header_t){.kind = kind,
                           .bytes = (uint32_t)bytes,
                           .context = (uint32_t)number,
                           .tag = (int32_t)(uint32_t)(number >> 32)};
}

static inline uint64_t weft_header_number(const weft_header_t *header)
{
    return header->context | (uint64_t)(uint32_t)header->tag << 32;
}

#endif
