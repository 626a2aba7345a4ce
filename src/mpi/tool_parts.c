/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/tool_parts.h"

#include "stream/conduit.h"
#include "devcoll/method.h"
#include "coll/coll_pvars.h"
#include "pt2pt/pt2pt_events.h"
#include "pt2pt/pt2pt_pvars.h"
#include "ofi/ofi.h"
#include "tcp/tcp.h"
#include "shm/shm.h"
#include "object/comm_events.h"
#include "runtime/runtime_events.h"
#include "runtime/wait_pvars.h"
#include "runtime/world.h"

#include <string.h>

/* ---- the ways to other processes, which only start-up knows by name ---- */

static const weft_enum_t transport_names = {
    "transport", 5, {"not_reached", "self", "shm", "ofi", "tcp"}};

static int transport_of(int process)
{
    const weft_endpoint_t *endpoint = weft_process_reached(process);
    int found = 0;
    for (int i = 1; endpoint != NULL && i < transport_names.count; i++) {
        if (strcmp(endpoint->link->traffic->name, transport_names.items[i]) == 0)
            found = i;
    }
    return found;
}

static int comm_peers(const void *object)
{
    return ((const weft_comm_t *)object)->size;
}

static void read_transports(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    const weft_comm_t *comm = object;
    (void)pvar;
    for (int rank = 0; rank < comm->size; rank++)
        out[rank].state = transport_of(weft_comm_process(comm, rank));
}

static void read_reached(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    (void)object;
    out->count = 0;
    for (int process = 0; process < weft_processes.count; process++)
        out->count += weft_process_reached(process) != NULL;
}

static const weft_pvar_t path_pvars[] = {
    {.name = "comm_transports",
     .help = "How each rank of the communicator (of an intercommunicator: of the remote group) is "
             "reached, as far as that "
             "is known: ranks of other hosts are reached at the first message",
     .pvar_class = MPI_T_PVAR_CLASS_STATE,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_INT,
     .items = &transport_names,
     .is_of_comm = true,
     .elements = comm_peers,
     .read = read_transports},
    {.name = "processes_reached",
     .help = "Processes that this one has a way to, itself among them",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_BASIC,
     .category = WEFT_CATEGORY_TRANSPORT,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = read_reached},
};

static const weft_pvar_table_t paths = {path_pvars, sizeof(path_pvars) / sizeof(path_pvars[0])};

void weft_tool_tell_transport(int process)
{
    WEFT_EVENT(weft_transport_chosen_event, NULL, .rank = weft_process_rank(process),
               .transport = transport_of(process));
}

void weft_tool_tell_transports(void)
{
    if (weft_transport_chosen_event.heard == 0)
        return;
    for (int process = 0; process < weft_processes.count; process++) {
        if (weft_process_reached(process) != NULL)
            weft_tool_tell_transport(process);
    }
}

/* ---- the list ---- */

static weft_event_type_t *const event_types[] = {
    &weft_comm_created_event,       &weft_comm_freed_event, &weft_algorithm_chosen_event,
    &weft_unexpected_message_event, &weft_throttle_event,   &weft_peer_lost_event,
    &weft_transport_chosen_event,   &weft_fallback_event,
};

const weft_tool_parts_t *weft_tool_parts(void)
{
    /* The collectives first: an event of theirs names their variables by index. */
    static const weft_pvar_table_t *tables[] = {NULL,
                                                &weft_pt2pt_pvars,
                                                &paths,
                                                &weft_wait_pvars,
                                                &weft_device_method_pvars,
                                                &weft_conduit_pvars,
                                                &weft_self_pvars,
                                                &weft_shm_pvars,
                                                &weft_ofi_pvars,
                                                &weft_tcp_pvars};
    static weft_tool_parts_t parts = {tables, sizeof(tables) / sizeof(tables[0]), event_types,
                                      sizeof(event_types) / sizeof(event_types[0])};
    tables[0] = weft_coll_pvars();
    return tables[0] == NULL ? NULL : &parts;
}
