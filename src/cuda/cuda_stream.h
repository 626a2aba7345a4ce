/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's streams (runtime/device_stream.h): calls are host functions, gates are waits for a
 * word in pinned memory.
 *
 *   once       WAIT word >= n          one word for a stream; its gates have ascending numbers
 *   repeated   WAIT word == 1, WRITE 0  a word for each gate
 *
 * A word is kept when its stream is closed, as the stream may still wait for it; it is used again
 * only with higher numbers. Where the driver has no such waits a host function waits. A driver may
 * run the host functions of all streams one after the other, so the gate of one stream can then
 * hold up a call of another stream.
 */
#ifndef WEFT_CUDA_CUDA_STREAM_H
#define WEFT_CUDA_CUDA_STREAM_H

#include "cuda/driver.h"
#include "runtime/device_stream.h"

extern const weft_device_stream_ops_t wefti_stream_ops;

/** The driver's stream, and its device. */
weft_cu_stream_t wefti_stream_handle(const weft_user_stream_t *stream);
weft_device_t *wefti_stream_device(const weft_user_stream_t *stream);

/** May a stream be waiting for the library at this moment? Then nothing may be called that waits
 * for all work of a context, as freeing and unmapping do: neither wait would end. The answer is
 * true as long as a gate is part of a graph. */
bool wefti_streams_may_wait(void);

/** May the driver be asked for memory of this device, or for the host's, or to map a peer's? Not
 * while a stream may be waiting, if the driver waits for all streams first (take_question.h). A
 * device on which no stream was given to the library has no reserve, but does not wait either. */
bool wefti_may_take(const weft_device_t *device);

/** Called at the end of MPI. */
void wefti_streams_close(void);

#endif
