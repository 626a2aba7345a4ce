/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/process.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>

enum { ROOM_LEAST = 16 };

weft_processes_t weft_processes;

int weft_processes_open(int size, int self)
{
    weft_process_t *at = weft_alloc_zeroed((size_t)size, sizeof(*at));
    if (at == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a table of %d processes", size);
    weft_processes = (weft_processes_t){.at = at, .count = size, .self = self, .capacity = size};
    return MPI_SUCCESS;
}

void weft_processes_close(void)
{
    weft_free(weft_processes.at);
    weft_processes = (weft_processes_t){0};
    weft_traffic_close();
}

static int make_process_room(void)
{
    weft_processes_t *table = &weft_processes;
    if (table->count < table->capacity)
        return MPI_SUCCESS;
    int capacity = table->capacity + table->capacity / 2 + ROOM_LEAST;
    weft_process_t *at = weft_realloc(table->at, (size_t)capacity * sizeof(*at));
    if (at == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a table of %d processes", capacity);
    memset(at + table->capacity, 0, (size_t)(capacity - table->capacity) * sizeof(*at));
    table->at = at;
    table->capacity = capacity;
    return MPI_SUCCESS;
}

static int find_free_process(void)
{
    int process = 0;
    while (weft_processes.at[process].job >= 0)
        process++;
    return process;
}

int weft_process_add(int job, int rank, int *out)
{
    weft_processes_t *table = &weft_processes;
    int process = table->count;
    if (table->free_count > 0) {
        process = find_free_process();
        table->free_count--;
    } else {
        int err = make_process_room();
        if (err != MPI_SUCCESS)
            return err;
        table->count++;
    }
    table->at[process] = (weft_process_t){
        .job = job, .rank_offset = rank - process, .generation = table->at[process].generation};
    *out = process;
    return MPI_SUCCESS;
}

/* Generations of entries beyond `count` are kept as long as the memory is. */
void weft_process_remove(int process)
{
    weft_processes_t *table = &weft_processes;
    table->at[process].job = WEFT_NO_PROCESS;
    table->at[process].generation++;
    table->free_count++;
    weft_traffic_forget(process);
    while (table->count > 0 && table->at[table->count - 1].job < 0) {
        table->count--;
        table->free_count--;
    }
}

int weft_process_find(int job, int rank)
{
    if (job == WEFT_OWN_JOB && weft_process_is_used(rank) &&
        weft_processes.at[rank].job == WEFT_OWN_JOB && weft_processes.at[rank].rank_offset == 0)
        return rank;
    for (int process = 0; process < weft_processes.count; process++) {
        if (weft_processes.at[process].job == job && weft_process_rank(process) == rank)
            return process;
    }
    return WEFT_NO_PROCESS;
}
