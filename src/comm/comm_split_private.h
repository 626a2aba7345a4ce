/* SPDX-License-Identifier: BSD-3-Clause */
/* What all splits share: every rank hears what all have chosen, and makes its part. */
#ifndef WEFT_COMM_COMM_SPLIT_PRIVATE_H
#define WEFT_COMM_COMM_SPLIT_PRIVATE_H

#include "comm/context_agree.h"

/** What a rank tells all others. */
typedef struct weft_split_choice {
    int color, key;
} weft_split_choice_t;

/** Each rank tells all others `bytes` bytes: all[whole->size] of them. Errors of a collective. */
int wefti_split_exchange(weft_comm_t *whole, const void *mine, void *all, size_t bytes);

/**
 * Make the part of this rank; *out stays NULL for colour MPI_UNDEFINED. Errors as of
 * weft_comm_split().
 *
 * choices  of all ranks of weft_comm_whole(comm); those of other colours need not be right
 */
int wefti_split_join(weft_comm_t *comm, const weft_split_choice_t choices[],
                     const weft_creation_t *creation, weft_comm_t **out);

#endif
