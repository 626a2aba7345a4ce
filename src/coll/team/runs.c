/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/runs.h"

#include "mpi.h"

static weft_data_t bytes_at(weft_place_t place, size_t bytes)
{
    return (weft_data_t){place, bytes, weft_type_of(MPI_BYTE)};
}

/* One element of a new type. If there is no memory it is empty, and that is noted in the plan. */
static weft_data_t element(weft_plan_t *plan, weft_place_t at, int err, weft_type_t *type)
{
    if (err == MPI_SUCCESS) {
        err = weft_type_commit(type);
        if (err == MPI_SUCCESS)
            return (weft_data_t){at, 1, type};
        weft_type_release(type);
    }
    plan->error = err;
    return bytes_at(at, 0);
}

/* Makes the type of the equal runs and the shorter one behind them. */
static int make_type(const weft_runs_t *runs, weft_type_t **out)
{
    weft_type_t *equal;
    MPI_Count each = (MPI_Count)runs->each_bytes;
    int err = weft_type_hvector((MPI_Count)runs->count, each, runs->stride_bytes,
                                weft_type_of(MPI_BYTE), &equal);
    if (err != MPI_SUCCESS || runs->last_bytes == 0) {
        *out = equal;
        return err;
    }
    MPI_Count counts[2] = {1, (MPI_Count)runs->last_bytes};
    MPI_Count places[2] = {0, (MPI_Count)runs->count * runs->stride_bytes};
    MPI_Datatype types[2] = {weft_type_handle(equal), MPI_BYTE};
    err = weft_type_struct(2, weft_counts_wide(counts), weft_counts_wide(places), types, out);
    weft_type_release(equal);
    return err;
}

weft_data_t weft_runs_data(weft_plan_t *plan, weft_runs_t runs)
{
    if (runs.count == 0)
        return bytes_at(runs.at, runs.last_bytes);
    if (runs.count == 1 && runs.last_bytes == 0)
        return bytes_at(runs.at, runs.each_bytes);
    weft_type_t *type = NULL;
    int err = make_type(&runs, &type);
    return element(plan, runs.at, err, type);
}

weft_data_t weft_run_list_data(weft_plan_t *plan, const weft_run_list_t *runs)
{
    weft_type_t *type = NULL;
    int err = weft_type_hindexed((MPI_Count)runs->count, weft_counts_wide(runs->bytes),
                                 weft_counts_wide(runs->offsets), weft_type_of(MPI_BYTE), &type);
    return element(plan, runs->at, err, type);
}

weft_data_t weft_plan_as_bytes(weft_plan_t *plan, weft_data_t data)
{
    size_t bytes = data.count * data.type->size;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    return bytes_at(data.type->is_dense ? data.place : weft_plan_scratch(plan, bytes, byte), bytes);
}
