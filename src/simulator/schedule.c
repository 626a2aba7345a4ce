/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulator/schedule_private.h"

#include "base/memory.h"

static bool is_before(weft_sim_event_t a, weft_sim_event_t b)
{
    return a.at < b.at || (a.at == b.at && a.thread < b.thread);
}

bool weft_sim_schedule_add(weft_sim_schedule_t *schedule, weft_sim_event_t event)
{
    if (schedule->count == schedule->room) {
        size_t room = schedule->room == 0 ? 256 : schedule->room * 2;
        weft_sim_event_t *events = weft_realloc(schedule->events, room * sizeof(*events));
        if (events == NULL)
            return false;
        schedule->events = events;
        schedule->room = room;
    }
    size_t at = schedule->count++;
    for (; at > 0 && is_before(event, schedule->events[(at - 1) / 2]); at = (at - 1) / 2)
        schedule->events[at] = schedule->events[(at - 1) / 2];
    schedule->events[at] = event;
    return true;
}

bool weft_sim_schedule_take(weft_sim_schedule_t *schedule, weft_sim_event_t *out)
{
    if (schedule->count == 0)
        return false;
    weft_sim_event_t *events = schedule->events, last = events[--schedule->count];
    size_t at = 0, count = schedule->count;
    *out = events[0];
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(events[child + 1], events[child]))
            child++;
        if (!is_before(events[child], last))
            break;
        events[at] = events[child];
        at = child;
    }
    events[at] = last;
    return true;
}

void weft_sim_schedule_close(weft_sim_schedule_t *schedule)
{
    weft_free(schedule->events);
    *schedule = (weft_sim_schedule_t){0};
}
