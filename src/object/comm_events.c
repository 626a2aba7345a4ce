/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/comm_events.h"

static const weft_enum_t created_names = {
    "comm_created", 4, {"handle", "rank", "size", "remote_size"}};

static const weft_event_element_t created_elements[] = {
    WEFT_ELEMENT_OF(weft_comm_created_event_t, handle, MPI_UNSIGNED_LONG_LONG),
    WEFT_ELEMENT_OF(weft_comm_created_event_t, rank, MPI_INT),
    WEFT_ELEMENT_OF(weft_comm_created_event_t, size, MPI_INT),
    WEFT_ELEMENT_OF(weft_comm_created_event_t, remote_size, MPI_INT),
};

weft_event_type_t weft_comm_created_event = {
    .name = "comm_created",
    .help = "The program gets a communicator: its handle, the own rank, and the sizes of its group "
            "and (0: there is "
            "none) of the remote group. A communicator of MPI_Comm_idup may not be used yet",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_COMM,
    .bytes = sizeof(weft_comm_created_event_t),
    .elements = created_elements,
    .names = &created_names,
};

static const weft_enum_t freed_names = {"comm_freed", 1, {"handle"}};

static const weft_event_element_t freed_elements[] = {
    WEFT_ELEMENT_OF(weft_comm_freed_event_t, handle, MPI_UNSIGNED_LONG_LONG),
};

weft_event_type_t weft_comm_freed_event = {
    .name = "comm_freed",
    .help = "A communicator is gone: the program has freed it, and nothing uses it any more. The "
            "handle may stand for "
            "another one from now on",
    .verbosity = MPI_T_VERBOSITY_USER_BASIC,
    .category = WEFT_CATEGORY_COMM,
    .bytes = sizeof(weft_comm_freed_event_t),
    .elements = freed_elements,
    .names = &freed_names,
};

MPI_Comm weft_comm_show(weft_comm_t *comm)
{
    MPI_Comm handle = weft_comm_handle(comm);
    comm->is_shown = true;
    WEFT_EVENT(weft_comm_created_event, NULL, .handle = (uintptr_t)handle, .rank = comm->rank,
               .size = comm->group->size, .remote_size = weft_comm_is_inter(comm) ? comm->size : 0);
    return handle;
}
