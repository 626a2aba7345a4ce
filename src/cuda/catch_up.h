/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library could not have because a stream of the program might wait for it: memory of the
 * driver, shared memory that devices reach, and mappings of peers' memory. It is had before a
 * stream waits the next time.
 *
 *   operation       needs memory, or a peer's buffer: gets what there is, or goes another way
 *   next operation  before its stream waits: takes and maps what was missed
 */
#ifndef WEFT_CUDA_CATCH_UP_H
#define WEFT_CUDA_CATCH_UP_H

#include "runtime/device_stream.h"

/** Called where no stream waits for the library, and `stream`, which is not captured, is the only
 * one. It may wait for the stream for a few milliseconds. */
void wefti_catch_up(const weft_user_stream_t *stream);

#endif
