/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda.h"

#include "cuda/allocation.h"
#include "cuda/bar.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_device.h"
#include "cuda/cuda_exchange.h"
#include "cuda/cuda_report.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_mapping.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_multicast.h"
#include "cuda/cuda_pack.h"
#include "cuda/cuda_segments.h"
#include "cuda/cuda_share.h"
#include "cuda/cuda_stream.h"
#include "cuda/shared_pins.h"
#include "cuda/watch_words.h"
#include "cuda/host_place.h"
#include "runtime/fd_mail.h"
#include "base/config.h"

#include <string.h>

const char weft_cuda_memory_kinds[] = "cuda,cuda:host,cuda:device,cuda:managed";

static int cuda_number(const weft_device_t *device)
{
    return device->number;
}

static const weft_device_ops_t ops = {
    .name = "cuda",
    .number = cuda_number,
    .is_shared = wefti_device_is_shared,
    .memory_kinds = weft_cuda_memory_kinds,
    .may_come = wefti_driver_may_come,
    .is_device = wefti_is_device,
    .look = wefti_memory_look,
    .queue = wefti_queue_of,
    .copy = wefti_copy,
    .copy_many = wefti_copy_many,
    .pack = wefti_pack,
    .unpack = wefti_unpack,
    .can_reduce = wefti_can_reduce,
    .reduce = wefti_reduce,
    .open_inbox = wefti_inbox_open,
    .close_inbox = wefti_inbox_close,
    .exchange = wefti_exchange,
    .can_multicast = wefti_can_multicast,
    .make_multicast = wefti_multicast_make,
    .join_multicast = wefti_multicast_join,
    .bind_multicast = wefti_multicast_bind,
    .may_bind = wefti_multicast_may_bind,
    .can_bind = wefti_multicast_can_bind,
    .bind_buffer = wefti_multicast_bind_buffer,
    .close_multicast = wefti_multicast_close,
    .multicast = wefti_multicast,
    .record = wefti_queue_record,
    .bar_suits = wefti_bar_suits,
    .bar_find = wefti_bar_find,
    .bar_read = wefti_bar_read,
    .bar_write = wefti_bar_write,
    .take_pinned = wefti_pinned_take,
    .give_pinned = wefti_pinned_give,
    .pin_shared = wefti_pin_shared,
    .take_scratch = wefti_scratch_take,
    .give_scratch = wefti_scratch_give,
    .share = wefti_share,
    .unshare = wefti_unshare,
    .map = wefti_map,
    .is_refused = wefti_is_refused,
    .push = wefti_push_share,
    .is_awaited = wefti_is_awaited,
    .give_up = wefti_give_up,
    .unmap = wefti_unmap,
    .forget = wefti_forget_mapping,
    .describe = wefti_cuda_report,
    .streams = &wefti_stream_ops,
};

void weft_cuda_open(void)
{
    if (strcmp(weft_config.DEVICE, "no") == 0)
        return;
    wefti_host_places_open();
    wefti_shapes_open();
    weft_device_open(&ops, wefti_driver_open());
}

void weft_cuda_close(void)
{
    weft_device_close();
    wefti_streams_close();
    wefti_watch_words_close();
    wefti_pins_close();
    wefti_shapes_close();
    wefti_multicasts_close();
    wefti_mappings_close();
    wefti_segments_close();
    wefti_shares_close();
    wefti_allocations_close();
    weft_fd_mail_close();
    wefti_bar_close();
    wefti_devices_close();
    wefti_driver_close();
}
