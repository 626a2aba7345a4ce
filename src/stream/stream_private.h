/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's thread for streams: it begins the operations that streams have reached, and makes
 * progress as long as an operation is under way.
 *
 *   driver's thread   wefti_stream_arrived(record): pushes and wakes; no lock, no driver call
 *   library's thread  takes all that arrived, begins it, polls while anything is under way,
 *                     else sleeps
 *   any thread        that polls may complete an operation, and so open its gate
 */
#ifndef WEFT_STREAM_STREAM_PRIVATE_H
#define WEFT_STREAM_STREAM_PRIVATE_H

#include "stream/enqueued_private.h"
#include "stream/stream.h"

/** Start the thread if it does not run yet; from then on calls take the lock. Returns MPI_SUCCESS
 * or MPI_ERR_OTHER. */
int wefti_stream_thread_start(void);
bool wefti_stream_thread_runs(void);
/** End the thread. Nothing may be under way. */
void wefti_stream_thread_end(void);

/** A stream has reached an operation. Called by a thread of the driver, without the lock. */
void wefti_stream_arrived(void *record);

/** Wake the thread, if it runs, as there is work for it. Any thread may call this without the
 * lock. */
void wefti_stream_ring(void);

/** The record was dealt with; if the stream has reached it again meanwhile, it is begun again. */
void wefti_stream_dealt_with(enqueued_t *record);

/** An operation has failed: the thread calls its error handler, and then opens its gate. */
void wefti_stream_failed(enqueued_t *record);

/** An operation was begun (1) or is over (-1): the thread polls as long as any is under way. */
void wefti_stream_under_way(int more);

/** Have only one thread of the program at a time put work into the stream; waits. */
void wefti_stream_begin_feeding(weft_stream_t *stream);
void wefti_stream_end_feeding(weft_stream_t *stream);

/** From now on the thread looks at conduits. */
void wefti_stream_watch_conduits(void);

/** Wait until *flag is true, and check from time to time that streams still work: operations that
 * wait in a stream that does not work fail. */
void wefti_stream_await(const bool *flag);

/** All streams, linked by `link`. */
extern weft_list_t wefti_streams;

#endif
