/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's thread for streams: begins what streams have come to, and sees to progress as long
 * as anything is under way.
 *
 *   driver's thread   wefti_stream_arrived(record): a push, a wake; no lock, no call of the driver
 *   library's thread  takes all that arrived, begins it, polls while anything is under way,
 *                     else sleeps
 *   any thread        that polls may complete an operation, and so open its gate
 */
#ifndef WEFT_STREAM_STREAM_PRIVATE_H
#define WEFT_STREAM_STREAM_PRIVATE_H

#include "stream/enqueued_private.h"
#include "stream/stream.h"

/** Start the thread, if it does not run yet; from then on calls take the lock. MPI_ERR_OTHER. */
int wefti_stream_thread_start(void);
bool wefti_stream_thread_runs(void);
/** End it. Nothing is under way. */
void wefti_stream_thread_end(void);

/** A stream has come to an operation: called by a thread of the driver's, without the lock. */
void wefti_stream_arrived(void *record);

/** There is something to do for the thread, if it runs; from any thread, without the lock. */
void wefti_stream_ring(void);

/** It was dealt with; if the stream has come to it again meanwhile it begins anew. */
void wefti_stream_dealt_with(enqueued_t *record);

/** An operation has failed: its error handler is to be called, and then its gate opened. */
void wefti_stream_failed(enqueued_t *record);

/** An operation was begun (1) or is over (-1): the thread polls as long as any is under way. */
void wefti_stream_under_way(int more);

/** Wait until *flag is true, and look now and then whether streams still go on: what waits in one
 * that does not fails. */
void wefti_stream_await(const bool *flag);

/** All streams, linked by `link`. */
extern weft_list_t wefti_streams;

#endif
