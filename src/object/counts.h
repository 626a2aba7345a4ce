/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A caller's array of integers, int or 64 bits wide. The int and the _c form of an MPI function
 * share one body through it, and no array is copied only to widen it.
 */
#ifndef WEFT_OBJECT_COUNTS_H
#define WEFT_OBJECT_COUNTS_H

#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "an array of MPI_Aint is read as wide");

typedef struct weft_counts {
    const void *at; /* the caller's; int[] or, when wide, MPI_Count[] or MPI_Aint[] */
    bool wide;
} weft_counts_t;

static inline weft_counts_t weft_counts_int(const int *at)
{
    return (weft_counts_t){at, false};
}

static inline weft_counts_t weft_counts_wide(const MPI_Count *at)
{
    return (weft_counts_t){at, true};
}

static inline weft_counts_t weft_counts_aint(const MPI_Aint *at)
{
    return (weft_counts_t){at, true};
}

static inline MPI_Count weft_count_at(weft_counts_t counts, size_t index)
{
    return counts.wide ? ((const MPI_Count *)counts.at)[index] : ((const int *)counts.at)[index];
}

#endif
