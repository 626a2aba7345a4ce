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

/* text: NULL: none. */
static bool is_explained(int error, const char *text)
{
    return error == MPI_ERR_TRUNCATE ||
           (text != NULL && strncmp(text, beginning, sizeof(beginning) - 1) == 0);
}

void weft_coll_explain_error(weft_comm_t *comm, int error)
{
    char cause[TEXT_BYTES], lost[LOST_BYTES];
    const char *name = weft_comm_known(comm)->name;
    if (is_explained(error, weft_fail_text()))
        return;
    snprintf(cause, sizeof(cause), "%s", weft_fail_text());
    name_lost(comm, lost);
    weft_fail(error, "%s%.60s (%d ranks), rank %d%s: %s", beginning,
              name[0] != '\0' ? name : "a communicator", comm->size, comm->rank, lost, cause);
}

void weft_coll_explain_failure(weft_request_t *request)
{
    int error = request->status.MPI_ERROR;
    if (error == MPI_SUCCESS || is_explained(error, request->why))
        return;
    weft_request_result(request);
    weft_coll_explain_error(request->comm, error);
    weft_free(request->why);
    request->why = weft_strdup(weft_fail_text());
}
