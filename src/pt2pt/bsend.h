/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffered sends (MPI 5.0 section 3.6). A buffer holds the data of messages that are still on their
 * way, each behind a header, sorted by address:
 *
 *   | header data | header data |   gap   | header data |     gap     |
 *
 * A send takes the first gap that is large enough. It uses the communicator's own buffer, or else
 * that of the session which the communicator comes from, or else the process's.
 */
#ifndef WEFT_PT2PT_BSEND_H
#define WEFT_PT2PT_BSEND_H

#include "pt2pt/pt2pt.h"
#include "object/session.h"

/** Where an owner keeps its buffer; NULL there: none is attached. */
typedef void *weft_bsend_place_t;

weft_bsend_place_t *weft_bsend_of_process(void);
weft_bsend_place_t *weft_bsend_of_comm(weft_comm_t *comm);
weft_bsend_place_t *weft_bsend_of_session(weft_session_t *session);

/** At start-up; MPI_ERR_INTERN with a text. */
int weft_bsend_open(void);

/**
 * Attach `bytes` bytes at `memory` (MPI_BUFFER_AUTOMATIC: the library allocates the memory).
 * returns  MPI_SUCCESS; MPI_ERR_BUFFER when there is a buffer already; MPI_ERR_NO_MEM
 */
int weft_bsend_attach(weft_bsend_place_t *place, void *memory, size_t bytes);

/** Wait until the buffer is empty and detach it; gives back what was attached. MPI_ERR_BUFFER:
 * there is none. */
int weft_bsend_detach(weft_bsend_place_t *place, void **memory_out, size_t *bytes_out);

/** The owner goes: the same, if it has a buffer. */
void weft_bsend_release(weft_bsend_place_t *place);

/** Wait until what the buffer holds at this call is on its way; without a buffer it does nothing.
 */
void weft_bsend_flush(weft_bsend_place_t *place);
/** The same as a request of `comm` (NULL: of none). MPI_ERR_NO_MEM. */
int weft_bsend_flush_begin(weft_bsend_place_t *place, weft_comm_t *comm, weft_request_t **out);

/** Copy the message into the buffer and begin to send it; *out is complete. MPI_ERR_BUFFER with a
 * text when it does not fit. */
int weft_bsend_begin(const weft_send_args_t *args, weft_request_t **out);

/** As weft_bsend_begin, and the request can be cancelled, which makes room in the buffer. */
int weft_ibsend_begin(const weft_send_args_t *args, weft_request_t **out);

/** An inactive persistent buffered send. MPI_ERR_NO_MEM. */
int weft_bsend_init(const weft_send_args_t *args, weft_request_t **out);

/** Wait for all buffered messages of the process and forget the buffer, at the end of MPI. */
void weft_bsend_close(void);

#endif
