/* SPDX-License-Identifier: BSD-3-Clause */
/* Events for tools: how this process reaches others, and what it has to do without. */
#ifndef WEFT_RUNTIME_RUNTIME_EVENTS_H
#define WEFT_RUNTIME_RUNTIME_EVENTS_H

#include "tool/event.h"

/** A way to a process has been found: at the start, or at the first message to it. */
typedef struct weft_transport_chosen_event {
    int rank, transport; /* in the world of its job; index in weft_transport_names */
} weft_transport_chosen_event_t;

/** Something costs speed that the user may change. */
typedef struct weft_fallback_event {
    int what;      /* weft_warning_t */
    int is_logged; /* this process has logged it, as the first of its host */
} weft_fallback_event_t;

extern weft_event_type_t weft_transport_chosen_event, weft_fallback_event;

#endif
