/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A handshake whose messages are changed on the way: the input is added, bit by bit, to hello,
 * reply and welcome. Each side accepts exactly what is unchanged.
 * fuzz: runs=300000 most=140 of=base
 */
#include "input.h"

#include "base/handshake.h"

static const char protocol[WEFT_PROTOCOL_BYTES] = "weft-x1";
static const uint8_t secret[WEFT_SECRET_BYTES] = {7, 1, 200};
static const char caller_name[] = "rank 5";

/* Change a message by the next bytes of the input; false: it is unchanged, as they are all zero. */
static bool change(fuzz_input_t *input, uint8_t *message, size_t bytes)
{
    uint8_t difference[WEFT_REPLY_BYTES];
    bool is_changed = false;
    fuzz_fill(input, difference, bytes);
    for (size_t i = 0; i < bytes; i++) {
        message[i] ^= difference[i];
        is_changed = is_changed || difference[i] != 0;
    }
    return is_changed;
}

static void check_welcome(weft_handshake_t *called, weft_handshake_t *caller, fuzz_input_t *input)
{
    uint32_t verdict = 7;
    weft_handshake_welcome(called, secret, 1);
    memcpy(caller->welcome, called->welcome, WEFT_WELCOME_BYTES);
    bool is_changed = change(input, caller->welcome, WEFT_WELCOME_BYTES);
    bool is_accepted = weft_handshake_check(caller, secret, &verdict);
    fuzz_expect(is_accepted == !is_changed, "the caller takes a welcome that was changed");
    fuzz_expect(verdict == (is_accepted ? 1 : 7), "the verdict is wrong");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    weft_handshake_t called = {.place = {1}}, caller = {.place = {1}};
    char name[sizeof(caller_name)];
    fuzz_expect(weft_handshake_begin(&called, protocol), "there is no hello");
    memcpy(caller.hello, called.hello, WEFT_HELLO_BYTES);
    bool is_changed = change(&input, caller.hello, WEFT_HELLO_BYTES);
    if (!weft_handshake_answer(&caller, protocol, secret, caller_name, sizeof(caller_name))) {
        fuzz_expect(is_changed, "a good hello is refused");
        return 0;
    }
    memcpy(called.reply, caller.reply, WEFT_REPLY_BYTES);
    is_changed |= change(&input, called.reply, WEFT_REPLY_BYTES);
    bool is_accepted = weft_handshake_accept(&called, secret);
    fuzz_expect(is_accepted == !is_changed, "the called accepts what was changed");
    weft_handshake_name(&called, name, sizeof(name));
    fuzz_expect(!is_accepted || memcmp(name, caller_name, sizeof(name)) == 0, "the name is wrong");
    if (is_accepted)
        check_welcome(&called, &caller, &input);
    return 0;
}
