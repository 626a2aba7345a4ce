/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/remote_output.h"

static void put(void *context, int channel, const char *data, size_t bytes)
{
    weft_remote_output_t *output = context;
    if (weft_queue_append(&output->lines[channel], data, bytes))
        output->under_way += bytes;
}

static bool has_room(void *context, int channel)
{
    const weft_remote_output_t *output = context;
    (void)channel;
    return output->under_way < WEFT_OUTPUT_WINDOW;
}

weft_output_target_t weft_remote_output_target(weft_remote_output_t *output)
{
    return (weft_output_target_t){.context = output, .put = put, .has_room = has_room};
}

void weft_remote_output_send(weft_remote_output_t *output)
{
    for (int channel = 0; channel < 2; channel++) {
        weft_byte_queue_t *lines = &output->lines[channel];
        if (weft_queue_bytes(lines) == 0)
            continue;
        weft_writer_t body = {0};
        weft_write_u32(&body, (uint32_t)channel);
        weft_write_bytes(&body, weft_queue_front(lines), weft_queue_bytes(lines));
        weft_relay_send(output->relay, WEFT_MSG_OUTPUT, 0, &body);
        weft_writer_release(&body);
        weft_queue_drop(lines, weft_queue_bytes(lines));
    }
}

void weft_remote_output_take(weft_remote_output_t *output, const weft_message_t *message)
{
    weft_reader_t reader = weft_read_begin(message);
    uint64_t bytes = weft_read_u64(&reader);
    output->under_way -= bytes < output->under_way ? bytes : output->under_way;
}

void weft_remote_output_release(weft_remote_output_t *output)
{
    weft_queue_release(&output->lines[0]);
    weft_queue_release(&output->lines[1]);
}
