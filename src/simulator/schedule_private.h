/* SPDX-License-Identifier: BSD-3-Clause */
/* The events to come, in a heap. */
#ifndef WEFT_SIMULATOR_SCHEDULE_PRIVATE_H
#define WEFT_SIMULATOR_SCHEDULE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_sim_event {
    double at;
    uint32_t thread;
} weft_sim_event_t;

typedef struct weft_sim_schedule {
    weft_sim_event_t *events; /* [room], a heap of [count] */
    size_t count, room;
} weft_sim_schedule_t;

/** False when there is no memory. */
bool weft_sim_schedule_add(weft_sim_schedule_t *schedule, weft_sim_event_t event);

/** Takes out the earliest event; of several at the same time, the lowest thread's. Returns false if
 * none is left. */
bool weft_sim_schedule_take(weft_sim_schedule_t *schedule, weft_sim_event_t *out);

void weft_sim_schedule_close(weft_sim_schedule_t *schedule);

#endif
