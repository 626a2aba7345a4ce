/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of ranks as messages of the daemons. The first byte is the number of ranks of the job.
 * fuzz: runs=300000 most=600 of=launch/tree,launch/loop,base
 */
#include "input.h"

#include "launch/tree/rank_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    int size = 1 + (int)fuzz_byte(&input);
    char *body = fuzz_copy(input.at, input.left);
    const wl_message_t message = {.kind = WL_MSG_RANK, .body = body, .bytes = input.left};
    wl_rank_event_t event;
    if (wl_rank_event_read(&message, size, &event)) {
        fuzz_expect(event.rank >= 0 && event.rank < size, "there is no such rank");
        fuzz_expect(memchr(event.text, '\0', sizeof(event.text)) != NULL, "a text has no end");
        wl_writer_t again = {0};
        wl_rank_event_write(&event, &again);
        wl_writer_release(&again);
    }
    free(body);
    return 0;
}
