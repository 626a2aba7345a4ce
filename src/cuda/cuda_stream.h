/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the program's (runtime/device_stream.h): calls are host functions, gates are waits for
 * a word in pinned memory.
 *
 *   once       WAIT word >= n          one word a stream; its gates have ascending numbers
 *   repeated   WAIT word == 1, WRITE 0  a word of its own
 *
 * A word outlives its stream, which may still wait for it: it is used again only with higher
 * numbers. Where the driver has no such waits a host function waits. Drivers may run host functions
 * of all streams one after the other, so then one stream's gate can hold up another stream's call.
 */
#ifndef WEFT_CUDA_CUDA_STREAM_H
#define WEFT_CUDA_CUDA_STREAM_H

#include "runtime/device_stream.h"

extern const weft_device_stream_ops_t wefti_stream_ops;

/** May a stream be waiting for us just now? Then nothing may be called that waits for all work of a
 * context, as freeing and unmapping do: it would wait for us. True for good once a gate is in a
 * graph. */
bool wefti_streams_may_wait(void);

/** At the end of MPI. */
void wefti_streams_close(void);

#endif
