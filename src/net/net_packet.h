/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header that src/ofi puts in front of a packet of runtime/transport.h. Of this file src/tcp
 * uses the kinds only.
 *
 *   | key 8 | source 4 | sequence 4 | context 4 | tag 4 | bytes 4 | kind 1 | version 1 | 0 2 |
 *   | payload ...
 *
 * All hosts of a job have the same byte order. The key is a secret of the receiver's host that only
 * ranks of the job can read (through PMIx): a packet without it is not of this job, and is dropped.
 */
#ifndef WEFT_NET_NET_PACKET_H
#define WEFT_NET_NET_PACKET_H

#include <stdint.h>

enum {
    WEFT_WIRE_VERSION = 2,
    /* Packets between the transports themselves, which have higher kinds than those of the layer
     * above. Only LOST has a payload. */
    WEFT_WIRE_THROTTLE = 0xf0, /* the receiver must ask before it sends unexpected data */
    WEFT_WIRE_RELEASE,         /* it need not ask */
    WEFT_WIRE_TAKEN,           /* context and tag: bytes taken so far (ofi/credit.h) */
    WEFT_WIRE_LOST,            /* its sender sends nothing more; the payload says why; unnumbered */
};

typedef struct weft_wire {
    uint64_t key;
    uint32_t source;   /* rank in the job: weft_process_find() makes an index of it */
    uint32_t sequence; /* of this pair and direction, from 0 */
    uint32_t context;
    int32_t tag;
    uint32_t bytes; /* of the payload */
    uint8_t kind, version;
    uint16_t zero;
} weft_wire_t;

_Static_assert(sizeof(weft_wire_t) == 32, "no padding");

#endif
