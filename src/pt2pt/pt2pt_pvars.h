/* SPDX-License-Identifier: BSD-3-Clause */
/* Performance variables of point-to-point communication. */
#ifndef WEFT_PT2PT_PT2PT_PVARS_H
#define WEFT_PT2PT_PT2PT_PVARS_H

#include "tool/pvar.h"

#include <stdint.h>

/** Of the messages that no receive waits for. */
typedef struct weft_unexpected {
    weft_high_water_t queue, memory;
    uint64_t arrivals;
} weft_unexpected_t;

extern weft_unexpected_t wefti_unexpected;

/** Bytes of messages out of device memory that went through memory of the host, in pieces. */
typedef struct weft_staged {
    uint64_t by_shelf, by_packets;
} weft_staged_t;

extern weft_staged_t wefti_staged;

extern const weft_pvar_table_t weft_pt2pt_pvars;

#endif
