/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program has left in the buffers of its streams, before the process ends by _exit. */
#ifndef WEFT_MPI_LAST_OUTPUT_H
#define WEFT_MPI_LAST_OUTPUT_H

/** Flush the program's streams, for a second at most: another thread may have locked one for ever,
 * and the reader of another one may sleep. Only before the process ends: the disposition of SIGALRM
 * is changed, and a stream whose flush takes longer stays locked. Uses no memory of the heap, so
 * that a signal handler may come here. */
void weft_flush_last_output(void);

#endif
