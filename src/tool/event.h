/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events (MPI 5.0 section 15.3.8). A type of event stands beside the code that raises it; start-up
 * lists the types (mpi/tool_parts.c).
 *
 *     typedef struct weft_peer_lost_event { int rank; } weft_peer_lost_event_t;
 *     weft_event_type_t weft_peer_lost_event = {.name = "peer_lost", ...};
 *     ...
 *     WEFT_EVENT(weft_peer_lost_event, NULL, .rank = rank);
 *
 * Where nobody has registered for a type, raising it costs a load and a branch that is not taken.
 *
 *                      a callback for MPI_RESTRICTED or more
 *   WEFT_EVENT  --->   is there: it is called at once, within MPI, with the library's lock
 *               \
 *                -->   only one for REQUIRE_NONE, which may call all of MPI: the event is kept, and
 *                      given to it at the next call of MPI_T_ outside callbacks; if too many are
 *                      kept it is dropped, and counted for the dropped handler
 */
#ifndef WEFT_TOOL_EVENT_H
#define WEFT_TOOL_EVENT_H

#include "tool/category.h"
#include "tool/enumeration.h"
#include "base/list.h"
#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct weft_event_element {
    MPI_Datatype type;
    size_t offset;
} weft_event_element_t;

typedef struct weft_event_type {
    const char *name, *help;
    int verbosity;
    weft_category_t category;
    bool is_of_comm; /* registrations are bound to a communicator, the `object` of an event */
    size_t bytes;    /* of the structure that the event comes with */
    const weft_event_element_t *elements;
    const weft_enum_t *names; /* of the elements; its items are as many as they */
    /* of event.c */
    int heard;                 /* registrations that have a callback */
    weft_list_t registrations; /* next is NULL before the first */
} weft_event_type_t;

/** Element `member` of an event's structure. */
#define WEFT_ELEMENT_OF(structure, member, mpi_type)                                               \
    {                                                                                              \
        .type = (mpi_type), .offset = offsetof(structure, member)                                  \
    }

void weft_event_raise(weft_event_type_t *type, const void *object, const void *data)
    __attribute__((cold));

/** Raise an event of `event_type`; what follows are the members of its structure. With the
 *  library's lock, where that is in use. */
#define WEFT_EVENT(event_type, object, ...)                                                        \
    do {                                                                                           \
        if (__builtin_expect((event_type).heard != 0, 0))                                          \
            weft_event_raise(&(event_type), object, &(event_type##_t){__VA_ARGS__});               \
    } while (0)

/** An object to which registrations may be bound is about to go. */
void weft_events_unbind(const void *object);

/* ---- for src/mpi; all with the tool's lock, unless it says otherwise ---- */

enum { WEFT_EVENT_SOURCES = 1, WEFT_EVENTS_KEPT = 256 }; /* kept: for each registration */

int weft_events_open(weft_event_type_t *const *types, int count);
void weft_events_close(void);

int weft_event_count(void);
const weft_event_type_t *weft_event_type(int index);

typedef struct weft_registration weft_registration_handle_t;

int weft_registration_create(int event_index, const void *object, weft_registration_handle_t **out);
/** NULL: not a live one. Any address may be given. */
weft_registration_handle_t *weft_registration_of(MPI_T_event_registration handle);
/** No callback is called any more but those that run now. weft_registration_settle() comes next:
 *  `when_free` (may be NULL) is called there, or behind the last callback that runs. */
void weft_registration_free(weft_registration_handle_t *registration, void *user_data,
                            MPI_T_event_free_cb_function *when_free);
/** With neither lock, unless within a callback. */
void weft_registration_settle(weft_registration_handle_t *registration);

/** Four levels, of which one name is MPI_T_CB_REQUIRE_NONE: an index, or -1. */
int weft_safety_level(MPI_T_cb_safety safety);
/** `callback` NULL: none from now on. */
void weft_registration_set_callback(weft_registration_handle_t *registration, int level,
                                    MPI_T_event_cb_function *callback, void *user_data);
bool weft_registration_has_callback(const weft_registration_handle_t *registration, int level);
void weft_registration_set_dropped(weft_registration_handle_t *registration,
                                   MPI_T_event_dropped_cb_function *handler);

/** Call the callbacks that events were kept for. With neither lock, and not within a callback. */
void weft_events_deliver(void);

/** The event that the calling thread's callback was called for. */
typedef struct weft_event_instance {
    const weft_event_type_t *type;
    const void *data;
    int64_t time_ns;
} weft_event_instance_t;

/** NULL: not the event of the callback that runs. Needs no lock. */
const weft_event_instance_t *weft_event_instance_of(MPI_T_event_instance instance);

#endif
