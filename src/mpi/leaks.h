/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_CHECK=leaks: MPI_Finalize lists, for each rank, the communicators, groups, datatypes,
 * operations, requests and matched messages that the program still has, with the functions that
 * made them, and the messages that nobody has received.
 *
 * Functions that give a handle to the program note it, those that take it back forget it. Requests
 * are not forgotten, so that waiting for them costs nothing: the list leaves out those that are
 * over by then. Infos and error handlers may be freed after MPI_Finalize (MPI 5.0 section 11.4.1)
 * and are not listed.
 */
#ifndef WEFT_MPI_LEAKS_H
#define WEFT_MPI_LEAKS_H

#include "datatype/type.h"
#include "object/comm_events.h"
#include "object/group.h"
#include "object/request.h"
#include "base/config.h"

static inline bool weft_checks_leaks(void)
{
    return __builtin_expect((weft_config.CHECK & WEFT_CHECK_LEAKS) != 0, 0);
}

void weft_leaks_note(weft_kind_t kind, const void *handle, const char *function)
    __attribute__((cold));
void weft_leaks_forget(const void *handle) __attribute__((cold));

/** The program gets `handle`, which may be predefined or null, from `function`. It has to give it
 * back as often as it gets it. */
static inline void weft_note_given(weft_kind_t kind, const void *handle, const char *function)
{
    if (weft_checks_leaks())
        weft_leaks_note(kind, handle, function);
}

/** The program gives `handle` back. */
static inline void weft_note_back(const void *handle)
{
    if (weft_checks_leaks())
        weft_leaks_forget(handle);
}

/** The handle for the program of what `function` has made; NULL: MPI_COMM_NULL. */
static inline MPI_Comm weft_give_comm(const char *function, weft_comm_t *comm)
{
    if (comm == NULL)
        return MPI_COMM_NULL;
    weft_note_given(WEFT_KIND_COMM, comm, function);
    return weft_comm_show(comm);
}

static inline MPI_Group weft_give_group(const char *function, weft_group_t *group)
{
    MPI_Group handle = weft_group_handle(group);
    weft_note_given(WEFT_KIND_GROUP, handle, function);
    return handle;
}

static inline MPI_Datatype weft_give_type(const char *function, weft_type_t *type)
{
    MPI_Datatype handle = weft_type_handle(type);
    weft_note_given(WEFT_KIND_TYPE, handle, function);
    return handle;
}

static inline MPI_Request weft_give_request(const char *function, weft_request_t *request)
{
    weft_request_follow(request);
    weft_note_given(WEFT_KIND_REQUEST, request, function);
    return weft_request_handle(request);
}

/** Print the list, in MPI_Finalize. Collective over MPI_COMM_WORLD: messages that are on their way
 * are waited for.
 * is_end  this process has no sessions, which may still use what it has; else nothing is listed */
void weft_leaks_list(bool is_end);

void weft_leaks_close(void);

#endif
