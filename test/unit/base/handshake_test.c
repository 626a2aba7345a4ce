/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/handshake.h"

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

static const char protocol[WEFT_PROTOCOL_BYTES] = "weft-x1";
static const uint8_t here[WEFT_PLACE_BYTES] = {10, 0, 0, 7},
                     elsewhere[WEFT_PLACE_BYTES] = {10, 0, 0, 8};
static const char caller_name[] = "rank 5";
enum { VERDICT = 3 };

/* What each side knows, and where it believes that they meet. */
typedef struct side {
    const uint8_t *secret, *place;
    weft_handshake_t handshake;
} side_t;

#define SIDE(knows, meets) ((side_t){.secret = (knows), .place = (meets)})

static void meet_at(side_t *side)
{
    memcpy(side->handshake.place, side->place, WEFT_PLACE_BYTES);
}

/* hello and reply */
static void call(side_t *called, side_t *caller)
{
    meet_at(called);
    meet_at(caller);
    assert_true(weft_handshake_begin(&called->handshake, protocol));
    memcpy(caller->handshake.hello, called->handshake.hello, WEFT_HELLO_BYTES);
    assert_true(weft_handshake_answer(&caller->handshake, protocol, caller->secret, caller_name,
                                      sizeof(caller_name)));
    memcpy(called->handshake.reply, caller->handshake.reply, WEFT_REPLY_BYTES);
}

static bool welcome(side_t *called, side_t *caller, uint32_t *verdict)
{
    weft_handshake_welcome(&called->handshake, called->secret, VERDICT);
    memcpy(caller->handshake.welcome, called->handshake.welcome, WEFT_WELCOME_BYTES);
    return weft_handshake_check(&caller->handshake, caller->secret, verdict);
}

static void both_know_the_secret(void **state)
{
    side_t called = SIDE(secret, here), caller = SIDE(secret, here);
    char name[sizeof(caller_name)];
    uint32_t verdict = 0;
    (void)state;
    call(&called, &caller);
    assert_true(weft_handshake_accept(&called.handshake, called.secret));
    weft_handshake_name(&called.handshake, name, sizeof(name));
    assert_string_equal(name, caller_name);
    assert_true(welcome(&called, &caller, &verdict));
    assert_int_equal(verdict, VERDICT);
}

/* Neither side is taken in by one that knows another secret or is at another place. */
static void others_are_refused(void **state)
{
    const side_t good = SIDE(secret, here);
    const side_t bad[] = {SIDE(other, here), SIDE(secret, elsewhere)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        side_t called = good, caller = bad[i];
        uint32_t verdict = 0;
        call(&called, &caller);
        assert_false(weft_handshake_accept(&called.handshake, called.secret));
        called = bad[i], caller = good;
        call(&called, &caller);
        assert_false(welcome(&called, &caller, &verdict));
        assert_int_equal(verdict, 0);
    }
}

static void another_protocol_gets_no_reply(void **state)
{
    weft_handshake_t called = {.place = {0}}, caller = {.place = {0}};
    (void)state;
    assert_true(weft_handshake_begin(&called, "weft-x2"));
    memcpy(caller.hello, called.hello, WEFT_HELLO_BYTES);
    assert_false(
        weft_handshake_answer(&caller, protocol, secret, caller_name, sizeof(caller_name)));
}

/* The caller's own proof, sent back to it, is no welcome. */
static void proofs_are_of_one_side(void **state)
{
    side_t called = SIDE(secret, here), caller = SIDE(secret, here);
    uint32_t verdict;
    (void)state;
    call(&called, &caller);
    memcpy(caller.handshake.welcome + WEFT_VERDICT_BYTES,
           caller.handshake.reply + WEFT_REPLY_BYTES - WEFT_PROOF_BYTES, WEFT_PROOF_BYTES);
    assert_false(weft_handshake_check(&caller.handshake, secret, &verdict));
}

/* A reply or a welcome for one connection is of no use on another. */
static void nothing_can_be_used_again(void **state)
{
    side_t first = SIDE(secret, here), second = first, caller = first, next = first;
    uint32_t verdict;
    (void)state;
    call(&first, &caller);
    call(&second, &next);
    memcpy(second.handshake.reply, caller.handshake.reply, WEFT_REPLY_BYTES);
    assert_false(weft_handshake_accept(&second.handshake, secret));
    assert_true(welcome(&first, &caller, &verdict));
    memcpy(next.handshake.welcome, first.handshake.welcome, WEFT_WELCOME_BYTES);
    assert_false(weft_handshake_check(&next.handshake, secret, &verdict));
}

/* Each bit of a reply and of a welcome counts, the name and the verdict among them. */
static void every_bit_counts(void **state)
{
    side_t called = SIDE(secret, here), caller = SIDE(secret, here);
    uint32_t verdict;
    (void)state;
    call(&called, &caller);
    for (int bit = 0; bit < WEFT_REPLY_BYTES * 8; bit++) {
        called.handshake.reply[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(weft_handshake_accept(&called.handshake, secret));
        called.handshake.reply[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(welcome(&called, &caller, &verdict));
    for (int bit = 0; bit < WEFT_WELCOME_BYTES * 8; bit++) {
        caller.handshake.welcome[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(weft_handshake_check(&caller.handshake, secret, &verdict));
        caller.handshake.welcome[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_as_published),
        cmocka_unit_test(every_byte_counts),
        cmocka_unit_test(both_know_the_secret),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(another_protocol_gets_no_reply),
        cmocka_unit_test(proofs_are_of_one_side),
        cmocka_unit_test(nothing_can_be_used_again),
        cmocka_unit_test(every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
