/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered sends (MPI 5.0 section 3.6). A buffer holds the data of messages that are still on their
 * way, each behind a header, sorted by address:
 *
 *   | header data | header data |   gap   | header data |     gap     |
 *
 * A send takes the first gap that is large enough. A communicator's own buffer is used in
 * preference to the process's.
 */
#ifndef WEFT_PT2PT_BSEND_H
#define WEFT_PT2PT_BSEND_H

#include "pt2pt/pt2pt.h"

typedef struct weft_bsend_buffer weft_bsend_buffer_t;

/** At start-up; MPI_ERR_INTERN with a text. */
int weft_bsend_open(void);

/**
 * Attach `bytes` bytes at `memory` (MPI_BUFFER_AUTOMATIC: the library allocates the memory) as the
 * buffer of `comm` (NULL: of the process).
 * returns  MPI_SUCCESS; MPI_ERR_BUFFER when there is one already; MPI_ERR_NO_MEM
 */
int weft_bsend_attach(weft_comm_t *comm, void *memory, size_t bytes);

/** Wait until the buffer is empty and detach it; gives back what was attached. MPI_ERR_BUFFER:
 * there is none. */
int weft_bsend_detach(weft_comm_t *comm, void **memory_out, size_t *bytes_out);

/** The communicator is freed: the same, if it has a buffer of its own. */
void weft_bsend_release(weft_comm_t *comm);

/** Wait until what the buffer holds at this call is on its way; without a buffer it does nothing.
 */
void weft_bsend_flush(weft_comm_t *comm);
/** The same as a request. MPI_ERR_NO_MEM. */
int weft_bsend_flush_begin(weft_comm_t *comm, weft_request_t **out);

/** Copy the message into the buffer and begin to send it; *out is complete. MPI_ERR_BUFFER with a
 * text when it does not fit. */
int weft_bsend_begin(const weft_send_args_t *args, weft_request_t **out);

/** An inactive persistent buffered send. MPI_ERR_NO_MEM. */
int weft_bsend_init(const weft_send_args_t *args, weft_request_t **out);

/** Wait for all buffered messages of the process and forget the buffer, at the end of MPI. */
void weft_bsend_close(void);

#endif
