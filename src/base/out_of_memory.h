/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a job for want of memory. */
#ifndef WEFT_BASE_OUT_OF_MEMORY_H
#define WEFT_BASE_OUT_OF_MEMORY_H

#include <stddef.h>

/**
 * End the job with one sentence, since there is no memory and no caller to which an error could be
 * returned, as when a packet has arrived. Where a caller can pass MPI_ERR_NO_MEM on, return that
 * instead.
 *
 * what   the memory is for: "an answer to rank 3"
 * bytes  that were wanted
 */
void weft_out_of_memory(const char *what, size_t bytes) __attribute__((noreturn, cold));

/** How the job is ended, with an exit code and the sentence; does not return. Set by start-up. */
extern void (*weft_out_of_memory_end)(int code, const char *why);

#endif
