/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Status: what the standard leaves to us in it (MPI_internal) and how to fill it.
 *
 *   MPI_internal[0]  low half of the bytes received     [2]  1: cancelled
 *   MPI_internal[1]  high half                          [3], [4]  0
 */
#ifndef WEFT_CORE_STATUS_H
#define WEFT_CORE_STATUS_H

#include "mpi.h"

#include <stdbool.h>
#include <stdint.h>

static inline void weft_status_set_bytes(MPI_Status *status, uint64_t bytes)
{
    status->MPI_internal[0] = (int)(uint32_t)bytes;
    status->MPI_internal[1] = (int)(uint32_t)(bytes >> 32);
}

static inline uint64_t weft_status_bytes(const MPI_Status *status)
{
    return (uint32_t)status->MPI_internal[0] | (uint64_t)(uint32_t)status->MPI_internal[1] << 32;
}

static inline void weft_status_set_cancelled(MPI_Status *status, bool is_cancelled)
{
    status->MPI_internal[2] = is_cancelled;
}

static inline bool weft_status_is_cancelled(const MPI_Status *status)
{
    return status->MPI_internal[2] != 0;
}

/** The empty status of MPI 5.0 section 3.7.3, MPI_ERROR included. */
static inline MPI_Status weft_status_empty(void)
{
    return (MPI_Status){
        .MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
}

/** The status of a receive from MPI_PROC_NULL. */
static inline MPI_Status weft_status_proc_null(void)
{
    return (MPI_Status){
        .MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
}

/** Hand a status to the user, who may not want it. MPI_ERROR stays as the user had it: only calls
 *  that complete several requests set it (section 3.2.5), and an empty status has it. */
static inline void weft_status_copy(MPI_Status *user, const MPI_Status *status)
{
    if (user == MPI_STATUS_IGNORE)
        return;
    int kept = user->MPI_ERROR;
    *user = *status;
    user->MPI_ERROR = kept;
}

#endif
