/* SPDX-License-Identifier: BSD-3-Clause */
/* Enqueued collectives that are kernels in the streams (conduit_private.h). */
#ifndef WEFT_STREAM_CONDUIT_H
#define WEFT_STREAM_CONDUIT_H

#include "stream/stream.h"
#include "coll/coll.h"
#include "tool/pvar.h"

/** Agree whether the enqueued collectives of a new communicator are kernels in the streams of its
 * ranks. Collective, blocks. `stream` is this rank's; NULL: it has none. MPI_SUCCESS also if they
 * are not; else the error of the agreement. */
int weft_conduit_agree(weft_comm_t *comm, weft_stream_t *stream);

/** Put a collective into the stream as kernels. Returns false, on all ranks, if the call is none
 * for that, and nothing was done. */
bool weft_conduit_put(weft_stream_t *stream, weft_coll_t coll, const weft_coll_args_t *args,
                      int *err_out);

/** What tools can count. */
extern const weft_pvar_table_t weft_conduit_pvars;

/** Called at start-up. Returns MPI_SUCCESS, or MPI_ERR_INTERN with a text. */
int weft_conduits_open(void);
/** At the end of MPI, when no stream has work. */
void weft_conduits_end(void);
/** Communicators are gone. */
void weft_conduits_close(void);

#endif
