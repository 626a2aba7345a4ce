/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/remote_output.h"

static void remote_output_put(void *context, int channel, const char *data, size_t bytes)
{
    wl_remote_output_t *output = context;
    if (wl_queue_append(&output->lines[channel], data, bytes))
        output->under_way += bytes;
}

static bool remote_output_has_room(void *context, int channel)
{
    const wl_remote_output_t *output = context;
    (void)channel;
    return output->under_way < WL_OUTPUT_CREDIT;
}

wl_output_target_t wl_remote_output_target(wl_remote_output_t *output)
{
    return (wl_output_target_t){
        .context = output, .put = remote_output_put, .has_room = remote_output_has_room};
}

void wl_remote_output_send(wl_remote_output_t *output)
{
    for (int channel = 0; channel < 2; channel++) {
        wl_byte_queue_t *lines = &output->lines[channel];
        if (wl_queue_bytes(lines) == 0)
            continue;
        wl_writer_t body = {0};
        wl_write_u32(&body, (uint32_t)channel);
        wl_write_bytes(&body, wl_queue_front(lines), wl_queue_bytes(lines));
        wl_router_send(output->router, WL_MSG_OUTPUT, 0, &body);
        wl_writer_release(&body);
        wl_queue_drop(lines, wl_queue_bytes(lines));
    }
}

void wl_remote_output_take(wl_remote_output_t *output, const wl_message_t *message)
{
    wl_reader_t reader = wl_read_begin(message);
    uint64_t bytes = wl_read_u64(&reader);
    output->under_way -= bytes < output->under_way ? bytes : output->under_way;
}
