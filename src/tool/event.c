/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations for events, and how an event finds its callbacks (event.h draws it). */
#include "tool/event.h"

#include "tool/tool.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"

#include <string.h>

enum { LEVELS = 4, NONE = 0, RESTRICTED = 1 };

static const MPI_T_cb_safety safeties[LEVELS] = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

typedef struct event_callback {
    MPI_T_event_cb_function *function; /* NULL: none */
    void *user_data;
} event_callback_t;

struct weft_registration {
    bool is_live; /* first: see weft_pool_each */
    weft_event_type_t *type;
    weft_link_t of_type;
    const void *object; /* that it is bound to; NULL: none, or it has gone */
    event_callback_t callbacks[LEVELS];
    MPI_T_event_dropped_cb_function *dropped_handler;
    MPI_Count dropped; /* since the handler was last told */
    int kept;          /* events in the list below */
    uint64_t seen;     /* the last event that it was offered */
    int running;       /* callbacks that run without the lock */
    bool is_freed;     /* by the tool, while callbacks run */
    MPI_T_event_free_cb_function *when_free;
    void *free_data;
};

/* An event that waits for a callback that may call all of MPI. */
typedef struct kept_event {
    weft_link_t link;
    weft_registration_handle_t *registration;
    weft_event_instance_t instance;
    _Alignas(8) char data[];
} kept_event_t;

static weft_event_type_t *const *types;
static int type_count;
static weft_pool_t registrations = WEFT_POOL(weft_registration_handle_t);
static weft_list_t kept_events = {&kept_events, &kept_events};

static uint64_t raised; /* events of all types: the number of the last one */
static _Thread_local const weft_event_instance_t *current;

/* ---- types ---- */

int weft_events_open(weft_event_type_t *const *all, int count)
{
    int err = MPI_SUCCESS;
    types = all;
    type_count = count;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        err = weft_enum_show(all[i]->names);
    return err;
}

int weft_event_count(void)
{
    return type_count;
}

const weft_event_type_t *weft_event_type(int index)
{
    return types[index];
}

/* ---- registrations ---- */

int weft_registration_create(int event_index, const void *object, weft_registration_handle_t **out)
{
    weft_registration_handle_t *registration = weft_pool_take(&registrations);
    if (registration == NULL)
        return MPI_T_ERR_OUT_OF_HANDLES;
    weft_event_type_t *type = types[event_index];
    *registration = (weft_registration_handle_t){
        .is_live = true, .type = type, .object = object, .seen = raised};
    if (type->registrations.next == NULL)
        weft_list_init(&type->registrations);
    weft_list_append(&type->registrations, &registration->of_type);
    *out = registration;
    return MPI_SUCCESS;
}

weft_registration_handle_t *weft_registration_of(MPI_T_event_registration handle)
{
    weft_registration_handle_t *found = (weft_registration_handle_t *)handle;
    bool is_live = weft_pool_owns(&registrations, found) && found->is_live && !found->is_freed;
    return is_live ? found : NULL;
}

static bool is_heard(const weft_registration_handle_t *registration)
{
    for (int i = 0; i < LEVELS; i++) {
        if (registration->callbacks[i].function != NULL)
            return true;
    }
    return false;
}

int weft_safety_level(MPI_T_cb_safety safety)
{
    for (int i = 0; i < LEVELS; i++) {
        if (safeties[i] == safety)
            return i;
    }
    return -1;
}

void weft_registration_set_callback(weft_registration_handle_t *registration, int level,
                                    MPI_T_event_cb_function *callback, void *user_data)
{
    registration->type->heard -= is_heard(registration);
    registration->callbacks[level] = (event_callback_t){callback, user_data};
    registration->type->heard += is_heard(registration);
}

bool weft_registration_has_callback(const weft_registration_handle_t *registration, int level)
{
    return registration->callbacks[level].function != NULL;
}

void weft_registration_set_dropped(weft_registration_handle_t *registration,
                                   MPI_T_event_dropped_cb_function *handler)
{
    registration->dropped_handler = handler;
}

static void forget_kept(const weft_registration_handle_t *registration)
{
    for (weft_link_t *at = kept_events.next, *next; at != &kept_events; at = next) {
        next = at->next;
        kept_event_t *event = WEFT_ELEMENT(at, kept_event_t, link);
        if (event->registration != registration)
            continue;
        weft_list_remove(at);
        weft_free(event);
    }
}

/* Nothing runs for it any more. The tool's last callback is called without the lock. */
static void end_registration(weft_registration_handle_t *registration)
{
    MPI_T_event_free_cb_function *when_free = registration->when_free;
    registration->is_live = false;
    weft_tool_unlock();
    if (when_free != NULL)
        when_free((MPI_T_event_registration)registration,
                  safeties[weft_tool_is_in_callback() ? RESTRICTED : NONE],
                  registration->free_data);
    weft_tool_lock();
    weft_pool_give(&registrations, registration);
}

void weft_registration_free(weft_registration_handle_t *registration, void *user_data,
                            MPI_T_event_free_cb_function *when_free)
{
    registration->running++;
    for (int i = 0; i < LEVELS; i++)
        weft_registration_set_callback(registration, i, NULL, NULL);
    forget_kept(registration);
    weft_list_remove(&registration->of_type);
    registration->is_freed = true;
    registration->when_free = when_free;
    registration->free_data = user_data;
}

/* A callback has returned; with the lock. */
static void end_running(weft_registration_handle_t *registration)
{
    if (--registration->running == 0 && registration->is_freed)
        end_registration(registration);
}

void weft_registration_settle(weft_registration_handle_t *registration)
{
    weft_tool_lock();
    end_running(registration);
    weft_tool_unlock();
}

static void unbind_registration(void *object, void *gone)
{
    weft_registration_handle_t *registration = object;
    if (registration->is_live && registration->object == gone)
        registration->object = NULL;
}

void weft_events_unbind(const void *object)
{
    weft_tool_lock();
    weft_pool_each(&registrations, unbind_registration, (void *)object);
    weft_tool_unlock();
}

static void close_registration(void *object, void *unused)
{
    (void)unused;
    weft_registration_handle_t *registration = object;
    if (!registration->is_live || registration->is_freed)
        return;
    weft_registration_free(registration, NULL, NULL);
    end_running(registration);
}

void weft_events_close(void)
{
    weft_pool_each(&registrations, close_registration, NULL);
    if (registrations.live == 0) /* else callbacks run in other threads */
        weft_pool_close(&registrations);
    type_count = 0;
}

/* ---- raising ---- */

/* The tool hears of dropped events before it gets the next one. */
static void tell_dropped(weft_registration_handle_t *registration, int level)
{
    MPI_Count count = registration->dropped;
    if (count == 0 || registration->dropped_handler == NULL)
        return;
    registration->dropped = 0;
    registration->dropped_handler(count, (MPI_T_event_registration)registration, 0,
                                  safeties[RESTRICTED], registration->callbacks[level].user_data);
}

static void call_back(weft_registration_handle_t *registration, const event_callback_t *callback,
                      int level, const weft_event_instance_t *instance)
{
    const weft_event_instance_t *outer = current;
    current = instance;
    callback->function((MPI_T_event_instance)instance, (MPI_T_event_registration)registration,
                       safeties[level], callback->user_data);
    current = outer;
}

static void keep_event(weft_registration_handle_t *registration,
                       const weft_event_instance_t *instance)
{
    kept_event_t *event = NULL;
    if (registration->kept < WEFT_EVENTS_KEPT)
        event = weft_alloc(sizeof(*event) + instance->type->bytes);
    if (event == NULL) {
        registration->dropped++;
        return;
    }
    event->registration = registration;
    event->instance = *instance;
    event->instance.data = memcpy(event->data, instance->data, instance->type->bytes);
    weft_list_append(&kept_events, &event->link);
    registration->kept++;
}

/* Give the event to the callback that promises least of those that suffice here. */
static void hear(weft_registration_handle_t *registration, const weft_event_instance_t *instance)
{
    int level = RESTRICTED;
    while (level < LEVELS && registration->callbacks[level].function == NULL)
        level++;
    if (level < LEVELS) {
        event_callback_t callback = registration->callbacks[level];
        registration->running++;
        weft_tool_enter_callback();
        tell_dropped(registration, level);
        call_back(registration, &callback, RESTRICTED, instance);
        weft_tool_leave_callback();
        end_running(registration);
    } else if (registration->callbacks[NONE].function != NULL) {
        keep_event(registration, instance);
    }
}

/* The next registration that has not been offered the event yet. Callbacks may free registrations,
 * so the list is searched from its beginning each time. */
static weft_registration_handle_t *next_unseen(const weft_event_type_t *type, const void *object)
{
    const weft_list_t *list = &type->registrations;
    for (weft_link_t *at = list->next; at != NULL && at != list; at = at->next) {
        weft_registration_handle_t *registration =
            WEFT_ELEMENT(at, weft_registration_handle_t, of_type);
        bool is_meant = !type->is_of_comm || registration->object == object;
        if (is_meant && registration->seen != raised)
            return registration;
    }
    return NULL;
}

void weft_event_raise(weft_event_type_t *type, const void *object, const void *data)
{
    weft_event_instance_t instance = {type, data, weft_clock_ns()};
    weft_tool_lock();
    raised++;
    for (weft_registration_handle_t *next; (next = next_unseen(type, object)) != NULL;) {
        next->seen = raised;
        hear(next, &instance);
    }
    weft_tool_unlock();
}

/* ---- events that were kept ---- */

/* With the lock, which is given up while the callback runs. */
static void deliver_event(kept_event_t *event)
{
    weft_registration_handle_t *registration = event->registration;
    event_callback_t callback = registration->callbacks[NONE];
    MPI_T_event_dropped_cb_function *handler = registration->dropped_handler;
    MPI_Count dropped = handler == NULL ? 0 : registration->dropped;
    registration->dropped -= dropped;
    registration->kept--;
    registration->running++;
    weft_tool_unlock();
    if (dropped > 0)
        handler(dropped, (MPI_T_event_registration)registration, 0, safeties[NONE],
                callback.user_data);
    if (callback.function != NULL)
        call_back(registration, &callback, NONE, &event->instance);
    weft_tool_lock();
    end_running(registration);
    weft_free(event);
}

/* One thread at a time, so that they come in order; callbacks call MPI_T too. */
void weft_events_deliver(void)
{
    static bool is_under_way;
    weft_tool_lock();
    if (!is_under_way) {
        is_under_way = true;
        for (weft_link_t *link; (link = weft_list_pop(&kept_events)) != NULL;)
            deliver_event(WEFT_ELEMENT(link, kept_event_t, link));
        is_under_way = false;
    }
    weft_tool_unlock();
}

const weft_event_instance_t *weft_event_instance_of(MPI_T_event_instance instance)
{
    return instance != NULL && (const void *)instance == (const void *)current ? current : NULL;
}
