/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the hub through a socket, in pieces. The first byte gives the length of the pieces.
 * Frames come out as they lie in the input, until one that is impossible.
 * fuzz: runs=60000 most=600 of=pmi,base
 */
#include "input.h"

#include "pmi/hub_private.h"

#include <endian.h>
#include <sys/socket.h>

enum { FRAME_HEAD = 16 };

static uint32_t word_at(const uint8_t *data, int index)
{
    uint32_t word;
    memcpy(&word, data + 4 * index, sizeof(word));
    return le32toh(word);
}

/* Check the frames that have come against the input; moves *rest behind them. -1: an impossible one
 * has come. */
static int take_frames(hub_stream_t *stream, fuzz_input_t *rest)
{
    hub_frame_t frame;
    int found;
    while ((found = wefti_hub_stream_next(stream, &frame)) > 0) {
        size_t bytes = FRAME_HEAD + (size_t)frame.key_bytes + frame.data_bytes;
        fuzz_expect(rest->left >= bytes, "a frame is too long");
        fuzz_expect(frame.kind == (hub_kind_t)word_at(rest->at, 0) &&
                        frame.number == (int32_t)word_at(rest->at, 1) &&
                        frame.key_bytes == word_at(rest->at, 2) &&
                        frame.data_bytes == word_at(rest->at, 3),
                    "a head has changed");
        fuzz_expect(
            memcmp(frame.key, rest->at + FRAME_HEAD, frame.key_bytes) == 0 &&
                memcmp(frame.data, rest->at + FRAME_HEAD + frame.key_bytes, frame.data_bytes) == 0,
            "a frame has changed");
        rest->at += bytes;
        rest->left -= bytes;
    }
    return found;
}

static void check_rest(int found, const fuzz_input_t *rest)
{
    bool is_impossible = rest->left >= FRAME_HEAD && (word_at(rest->at, 2) > HUB_KEY_MOST ||
                                                      word_at(rest->at, 3) > HUB_DATA_MOST);
    fuzz_expect((found < 0) == is_impossible, "an impossible frame is taken, or a possible not");
    if (!is_impossible && rest->left >= FRAME_HEAD)
        fuzz_expect(rest->left < FRAME_HEAD + (size_t)word_at(rest->at, 2) + word_at(rest->at, 3),
                    "a frame does not come");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    size_t piece = 1 + fuzz_byte(&input) * 4;
    fuzz_input_t rest = input;
    int ends[2], found = 0;
    fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no socket");
    hub_stream_t stream = {.fd = ends[1]};
    while (input.left > 0 && found == 0) {
        size_t now = piece < input.left ? piece : input.left;
        fuzz_expect(write(ends[0], input.at, now) == (ssize_t)now, "a socket takes too little");
        input.at += now;
        input.left -= now;
        fuzz_expect(wefti_hub_stream_read(&stream), "a stream ends too early");
        found = take_frames(&stream, &rest);
    }
    rest.left -= input.left;
    check_rest(found, &rest);
    close(ends[0]);
    if (found == 0)
        fuzz_expect(!wefti_hub_stream_read(&stream), "a stream does not end");
    wefti_hub_stream_close(&stream);
    return 0;
}
