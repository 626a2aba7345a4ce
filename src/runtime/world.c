/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/world.h"

#include "runtime/runtime_events.h"

weft_world_t weft_world = {.fabric = ""};

void weft_world_leave(weft_leaving_t how)
{
    atomic_store_explicit(&weft_world.leaving, (unsigned)how, memory_order_relaxed);
    if (weft_world.shown_leaving != NULL)
        atomic_store_explicit(weft_world.shown_leaving, (unsigned)how, memory_order_release);
}

bool weft_world_may_warn(weft_warning_t note)
{
    static atomic_uint own;
    atomic_uint *noted = weft_world.noted != NULL ? weft_world.noted : &own;
    bool is_first = (atomic_fetch_or(noted, 1u << note) & 1u << note) == 0;
    WEFT_EVENT(weft_fallback_event, NULL, .what = (int)note, .is_logged = is_first);
    return is_first;
}
