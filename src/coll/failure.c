/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/failure.h"

#include "pt2pt/pt2pt.h"
#include "object/comm.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const char beginning[] = "in a collective of ";

enum { TEXT_BYTES = 512, LOST_BYTES = 80, LOST_NAMED = 5 };

static bool is_lost(const weft_comm_t *comm, int rank)
{
    const weft_endpoint_t *endpoint = weft_process_reached(weft_comm_process(comm, rank));
    return endpoint != NULL && endpoint->is_lost;
}

/* For example ", which has lost rank 2, 5"; "" if no rank of the communicator is lost. */
static void name_lost(const weft_comm_t *comm, char out[LOST_BYTES])
{
    int named = 0;
    size_t length = 0;
    out[0] = '\0';
    for (int rank = 0; rank < comm->size && named <= LOST_NAMED && weft_world.has_lost; rank++) {
        if (!is_lost(comm, rank))
            continue;
        const char *format = named == 0           ? ", which has lost rank %d"
                             : named < LOST_NAMED ? ", %d"
                                                  : ", ...";
        length += (size_t)snprintf(out + length, LOST_BYTES - length, format, rank);
        named++;
    }
}

void weft_coll_explain_failure(weft_request_t *request)
{
    char text[TEXT_BYTES], lost[LOST_BYTES];
    const weft_comm_t *comm = request->comm;
    const char *name = weft_comm_known(request->comm)->name;
    int error = request->status.MPI_ERROR;
    if (error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE ||
        (request->why != NULL && strncmp(request->why, beginning, sizeof(beginning) - 1) == 0))
        return;
    weft_request_result(request);
    name_lost(comm, lost);
    snprintf(text, sizeof(text), "%s%.60s (%d ranks), rank %d%s: %s", beginning,
             name[0] != '\0' ? name : "a communicator", comm->size, comm->rank, lost,
             weft_fail_text());
    weft_free(request->why);
    request->why = weft_strdup(text);
}
