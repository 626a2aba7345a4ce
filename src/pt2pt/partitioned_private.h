/* SPDX-License-Identifier: BSD-3-Clause */
/* What both sides of partitioned communication share. */
#ifndef WEFT_PT2PT_PARTITIONED_PRIVATE_H
#define WEFT_PT2PT_PARTITIONED_PRIVATE_H

#include "pt2pt/pt2pt_private.h"

/** A number that no other channel of this process has. */
uint32_t wefti_channel_next(void);

static inline uint32_t wefti_channel_context(uint32_t channel)
{
    return channel << 1 | 1;
}

static inline int wefti_partition_tag(int partition)
{
    return INT32_MIN + partition;
}

/** Check that `partition` is one of `partitions`. MPI_ERR_ARG. */
int wefti_check_partition(int partition, int partitions);

#endif
