/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Status: how Weft uses the part that the standard leaves to the library (MPI_internal).
 *
 *   MPI_internal[0]  low half of the bytes received     [2]  1: cancelled
 *   MPI_internal[1]  high half                          [3], [4]  0
 */
#ifndef WEFT_OBJECT_STATUS_H
#define WEFT_OBJECT_STATUS_H

#include "mpi.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

_Static_assert(sizeof(((MPI_Status *)NULL)->MPI_internal) == 5 * sizeof(int),
               "weft_status_copy copies all of them");

/** Make `status` the empty one of MPI 5.0 section 3.7.3, MPI_ERROR included. */
static inline void weft_status_clear(MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    memset(status->MPI_internal, 0, sizeof(status->MPI_internal));
}

/** The same, as a value. */
static inline MPI_Status weft_status_empty(void)
{
    MPI_Status status;
    weft_status_clear(&status);
    return status;
}

/** The status of a receive from MPI_PROC_NULL. */
static inline MPI_Status weft_status_proc_null(void)
{
    return (MPI_Status){
        .MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
}

/** The status of request `i` of several. */
static inline MPI_Status *weft_status_at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/** Set MPI_ERROR of a status of the user, unless it is MPI_STATUS_IGNORE. */
static inline void weft_status_note_error(MPI_Status *user, int error)
{
    if (user != MPI_STATUS_IGNORE)
        user->MPI_ERROR = error;
}

/** Copy a status to the user, unless it is MPI_STATUS_IGNORE. MPI_ERROR keeps the user's value:
 *  only calls that complete several requests set it (section 3.2.5), and an empty status has it. */
static inline void weft_status_copy(MPI_Status *user, const MPI_Status *status)
{
    if (user == MPI_STATUS_IGNORE)
        return;
    /* one by one, as they were written; a loop would become a call of memmove */
    user->MPI_SOURCE = status->MPI_SOURCE;
    user->MPI_TAG = status->MPI_TAG;
    user->MPI_internal[0] = status->MPI_internal[0];
    user->MPI_internal[1] = status->MPI_internal[1];
    user->MPI_internal[2] = status->MPI_internal[2];
    user->MPI_internal[3] = status->MPI_internal[3];
    user->MPI_internal[4] = status->MPI_internal[4];
}

#endif
