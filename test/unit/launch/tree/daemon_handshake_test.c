/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/daemon_handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t secret[WEFT_SECRET_BYTES] = {7, 1, 200},
                     other[WEFT_SECRET_BYTES] = {7, 1, 201};

/* The first of the vectors that the authors of SipHash publish. */
static void hashes_as_published(void **state)
{
    static const uint8_t expected[2][WEFT_PROOF_BYTES] = {
        {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
         0x93},
        {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
         0x45}};
    uint8_t key[WEFT_SECRET_BYTES], text[1] = {0}, out[WEFT_PROOF_BYTES];
    (void)state;
    for (int i = 0; i < WEFT_SECRET_BYTES; i++)
        key[i] = (uint8_t)i;
    for (size_t bytes = 0; bytes < 2; bytes++) {
        weft_keyed_hash(key, text, bytes, out);
        assert_memory_equal(out, expected[bytes], WEFT_PROOF_BYTES);
    }
}

static void every_byte_counts(void **state)
{
    uint8_t text[40] = {0}, first[WEFT_PROOF_BYTES], next[WEFT_PROOF_BYTES];
    (void)state;
    for (size_t bytes = 1; bytes <= sizeof(text); bytes++) {
        weft_keyed_hash(secret, text, bytes, first);
        text[bytes - 1] ^= 1;
        weft_keyed_hash(secret, text, bytes, next);
        assert_memory_not_equal(first, next, WEFT_PROOF_BYTES);
        weft_keyed_hash(secret, text, bytes - 1, first);
        assert_memory_not_equal(first, next, WEFT_PROOF_BYTES);
    }
}

/* Both sides of a handshake, each with its secret. */
static bool shake_hands(const uint8_t *called_knows, const uint8_t *caller_knows, int *node)
{
    wl_handshake_t called = {0}, caller = {0};
    assert_true(wl_handshake_begin(&called));
    memcpy(caller.hello, called.hello, WL_HELLO_BYTES);
    assert_true(wl_handshake_answer(&caller, caller_knows, 5));
    memcpy(called.reply, caller.reply, WL_REPLY_BYTES);
    if (!wl_handshake_accept(&called, called_knows, node))
        return false;
    memcpy(caller.welcome, called.welcome, WL_WELCOME_BYTES);
    return wl_handshake_check(&caller, caller_knows);
}

static void friends_meet(void **state)
{
    int node = 0;
    (void)state;
    assert_true(shake_hands(secret, secret, &node));
    assert_int_equal(node, 5);
}

static void strangers_do_not(void **state)
{
    int node = 0;
    wl_handshake_t handshake = {0};
    (void)state;
    assert_false(shake_hands(secret, other, &node));
    assert_int_equal(node, 0);
    assert_false(wl_handshake_answer(&handshake, secret, 1)); /* no hello of ours */
    assert_true(wl_handshake_begin(&handshake));
    assert_true(wl_handshake_answer(&handshake, secret, 1));
    /* The caller's own proof, sent back to it, is no welcome. */
    memcpy(handshake.welcome, handshake.reply + WL_REPLY_BYTES - WEFT_PROOF_BYTES,
           WL_WELCOME_BYTES);
    assert_false(wl_handshake_check(&handshake, secret));
}

/* A reply for one connection is of no use on another, nor for another node. */
static void replies_cannot_be_used_again(void **state)
{
    wl_handshake_t first = {0}, second = {0};
    int node = 0;
    (void)state;
    assert_true(wl_handshake_begin(&first) && wl_handshake_begin(&second));
    assert_true(wl_handshake_answer(&first, secret, 1));
    memcpy(second.reply, first.reply, WL_REPLY_BYTES);
    assert_false(wl_handshake_accept(&second, secret, &node));
    first.reply[0] ^= 2;
    assert_false(wl_handshake_accept(&first, secret, &node));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_as_published),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(friends_meet),
        cmocka_unit_test(strangers_do_not),
        cmocka_unit_test(replies_cannot_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
