/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of the library that stands in a stream of the program itself, and the order of such streams.
 * The functions do what those of their names in runtime/device_stream.h promise. */
#ifndef WEFT_CUDA_STREAM_WORK_H
#define WEFT_CUDA_STREAM_WORK_H

#include "cuda/driver.h"
#include "runtime/device_stream.h"

bool wefti_stream_can_scale(const weft_user_stream_t *stream, const struct weft_type *type);
int wefti_stream_put_scaling(weft_user_stream_t *stream, const weft_scaling_t *scaling);
int wefti_stream_put_copy(weft_user_stream_t *stream, void *to, const void *from, size_t bytes);
int wefti_stream_put_mark(weft_user_stream_t *stream, void **mark);
int wefti_stream_follow(weft_user_stream_t *stream, void *mark);
int wefti_stream_take_memory(size_t bytes, void **out);
int wefti_stream_give_memory(void *memory);
void wefti_stream_drop_mark(weft_user_stream_t *stream, void *mark);

#endif
