/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/call_arrays.h"

#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

_Static_assert(sizeof(MPI_Datatype) == sizeof(MPI_Count), "arrays of both follow each other");

/* One of the two triples of arrays, each of so many entries. */
typedef struct triple {
    weft_counts_t *counts, *displs;
    const MPI_Datatype **types;
    size_t entries;
} triple_t;

static size_t bytes_of_entry(weft_counts_t counts)
{
    return counts.at == NULL ? 0 : counts.wide ? sizeof(MPI_Count) : sizeof(int);
}

/* Copies have room for wide entries, so that each is aligned. */
static char *copy_counts(weft_counts_t *counts, size_t entries, char *to)
{
    size_t bytes = entries * bytes_of_entry(*counts);
    if (bytes == 0)
        return to;
    memcpy(to, counts->at, bytes);
    counts->at = to;
    return to + entries * sizeof(MPI_Count);
}

static char *copy_triple(const triple_t *triple, char *to)
{
    to = copy_counts(triple->counts, triple->entries, to);
    to = copy_counts(triple->displs, triple->entries, to);
    if (*triple->types == NULL || triple->entries == 0)
        return to;
    size_t bytes = triple->entries * sizeof(MPI_Datatype);
    memcpy(to, *triple->types, bytes);
    *triple->types = (const MPI_Datatype *)(const void *)to;
    return to + bytes;
}

static size_t most_entries(const weft_regions_t sides[WEFT_SIDES], bool of_recv)
{
    int most = 0;
    for (int i = 0; i < WEFT_SIDES; i++) {
        bool is_of_recv;
        int entries = wefti_regions_entries(&sides[i], &is_of_recv);
        most = is_of_recv == of_recv && entries > most ? entries : most;
    }
    return (size_t)most;
}

int wefti_call_arrays_copy(const weft_regions_t sides[WEFT_SIDES], weft_coll_args_t *args,
                           void **out)
{
    enum { ARRAYS = 3 }; /* counts, displacements, types */
    triple_t send = {&args->send_counts, &args->send_displs, &args->send_types,
                     most_entries(sides, false)};
    triple_t recv = {&args->recv_counts, &args->recv_displs, &args->recv_types,
                     most_entries(sides, true)};
    *out = NULL;
    if (send.entries + recv.entries == 0)
        return MPI_SUCCESS;
    char *memory = weft_alloc_array(ARRAYS * (send.entries + recv.entries), sizeof(MPI_Count));
    if (memory == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the arrays of a collective");
    copy_triple(&recv, copy_triple(&send, memory));
    *out = memory;
    return MPI_SUCCESS;
}
