/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of launcher messages through a socket, in pieces. The first byte gives the length of the
 * pieces. Messages come out as they lie in the input.
 * fuzz: runs=60000 most=600 of=launch/loop,base
 */
#include "input.h"

#include "launch/loop/connection.h"

#include <endian.h>
#include <sys/socket.h>

enum { FRAME_HEAD = 16 };

static uint32_t word_at(const uint8_t *data, int index)
{
    uint32_t word;
    memcpy(&word, data + 4 * index, sizeof(word));
    return le32toh(word);
}

/* Check the messages that have come against the input; moves *rest behind them. */
static void take_messages(wl_connection_t *connection, fuzz_input_t *rest)
{
    wl_message_t message;
    while (wl_connection_next(connection, &message)) {
        fuzz_expect(rest->left >= FRAME_HEAD + message.bytes, "a message is too long");
        fuzz_expect(message.bytes == word_at(rest->at, 0) &&
                        message.kind == (int)word_at(rest->at, 1) &&
                        message.to == (int)word_at(rest->at, 2) &&
                        message.from == (int)word_at(rest->at, 3) &&
                        memcmp(message.body, rest->at + FRAME_HEAD, message.bytes) == 0,
                    "a message has changed");
        rest->at += FRAME_HEAD + message.bytes;
        rest->left -= FRAME_HEAD + message.bytes;
    }
}

static void check_rest(const wl_connection_t *connection, const fuzz_input_t *rest)
{
    if (connection->fd < 0)
        fuzz_expect(rest->left >= FRAME_HEAD && connection->error[0] != '\0',
                    "a connection ends without a reason");
    else
        fuzz_expect(rest->left < FRAME_HEAD || rest->left < FRAME_HEAD + word_at(rest->at, 0),
                    "a message does not come");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    size_t piece = 1 + fuzz_byte(&input) * 4;
    fuzz_input_t rest = input;
    int ends[2];
    wl_connection_t connection;
    fuzz_expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no socket");
    wl_connection_open(ends[1], &connection);
    while (input.left > 0 && connection.fd >= 0) {
        size_t now = piece < input.left ? piece : input.left;
        fuzz_expect(write(ends[0], input.at, now) == (ssize_t)now, "a socket takes too little");
        input.at += now;
        input.left -= now;
        wl_connection_advance(&connection);
        take_messages(&connection, &rest);
    }
    check_rest(&connection, &rest);
    close(ends[0]);
    wl_connection_advance(&connection);
    fuzz_expect(connection.fd == -1 && connection.error[0] != '\0', "a connection does not end");
    wl_connection_close(&connection);
    return 0;
}
