/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that wait for their receive, and receives that wait for their message; in order. */
#ifndef WEFT_SIMULATOR_ENDS_PRIVATE_H
#define WEFT_SIMULATOR_ENDS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One end of a message, its send or its receive. Ends of the same part match in order. */
typedef struct weft_sim_end {
    int32_t from, to;
    int16_t part;
    bool is_send;
    uint32_t thread, step; /* the thread that began it, and the step in which */
    double begun_at;
    double arrives_at; /* for a short message: when its data arrive */
    int32_t rounds, net_rounds;
    char *data; /* for a short message in a proof: a copy of its data */
} weft_sim_end_t;

typedef struct weft_sim_channels weft_sim_channels_t;

/** Room for about this many ends at a time; NULL when there is no memory. */
weft_sim_channels_t *weft_sim_channels_create(size_t ends);
void weft_sim_channels_release(weft_sim_channels_t *channels);

/** Takes out the first end of the other kind that matches this one. Returns true and *out, or false
 * if there is none. */
bool weft_sim_channels_take(weft_sim_channels_t *channels, const weft_sim_end_t *end,
                            weft_sim_end_t *out);

/** Keep an end; false when there is no memory. */
bool weft_sim_channels_keep(weft_sim_channels_t *channels, const weft_sim_end_t *end);

/** Returns in *out some end that is still kept when the replay has ended; false if there is
 * none. */
bool weft_sim_channels_any(const weft_sim_channels_t *channels, weft_sim_end_t *out);

#endif
