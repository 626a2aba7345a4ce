/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/handshake.h"

#include "base/random.h"
#include "mpi.h"

#include <endian.h>
#include <string.h>

enum { LABEL_BYTES = 8, PROOF_AT = WEFT_REPLY_BYTES - WEFT_PROOF_BYTES };

bool weft_handshake_begin(weft_handshake_t *handshake, const char protocol[WEFT_PROTOCOL_BYTES])
{
    memcpy(handshake->hello, protocol, WEFT_PROTOCOL_BYTES);
    return weft_random(handshake->hello + WEFT_PROTOCOL_BYTES, WEFT_NONCE_BYTES) == MPI_SUCCESS;
}

typedef enum handshake_side { CALLER, CALLED } handshake_side_t;

/*
 * Make the proof of a side. The label differs by side, so that a proof cannot be sent back to its
 * maker as the proof of the other side.
 * verdict  of the called, in the order of bytes that is sent
 */
static void prove(const weft_handshake_t *handshake, const uint8_t secret[], handshake_side_t side,
                  uint32_t verdict, uint8_t out[WEFT_PROOF_BYTES])
{
    static const char labels[][LABEL_BYTES] = {"caller", "called"};
    struct {
        char label[LABEL_BYTES];
        uint8_t hello[WEFT_HELLO_BYTES], place[WEFT_PLACE_BYTES];
        uint32_t verdict;
        uint8_t reply[WEFT_REPLY_BYTES];
    } text = {.verdict = verdict};
    memcpy(text.label, labels[side], LABEL_BYTES);
    memcpy(text.hello, handshake->hello, WEFT_HELLO_BYTES);
    memcpy(text.place, handshake->place, WEFT_PLACE_BYTES);
    /* The caller's own proof is the end of its reply. */
    memcpy(text.reply, handshake->reply, side == CALLER ? PROOF_AT : WEFT_REPLY_BYTES);
    weft_keyed_hash(secret, &text, sizeof(text), out);
}

/* Compare in a time that does not depend on where the first difference is. */
static bool are_equal(const uint8_t a[WEFT_PROOF_BYTES], const uint8_t b[WEFT_PROOF_BYTES])
{
    uint8_t difference = 0;
    for (int i = 0; i < WEFT_PROOF_BYTES; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

bool weft_handshake_answer(weft_handshake_t *handshake, const char protocol[WEFT_PROTOCOL_BYTES],
                           const uint8_t secret[], const void *name, size_t name_bytes)
{
    if (memcmp(handshake->hello, protocol, WEFT_PROTOCOL_BYTES) != 0)
        return false;
    memset(handshake->reply, 0, WEFT_NAME_BYTES);
    memcpy(handshake->reply, name, name_bytes);
    if (weft_random(handshake->reply + WEFT_NAME_BYTES, WEFT_NONCE_BYTES) != MPI_SUCCESS)
        return false;
    prove(handshake, secret, CALLER, 0, handshake->reply + PROOF_AT);
    return true;
}

void weft_handshake_name(const weft_handshake_t *handshake, void *out, size_t bytes)
{
    memcpy(out, handshake->reply, bytes);
}

bool weft_handshake_accept(const weft_handshake_t *handshake, const uint8_t secret[])
{
    uint8_t expected[WEFT_PROOF_BYTES];
    prove(handshake, secret, CALLER, 0, expected);
    return are_equal(expected, handshake->reply + PROOF_AT);
}

void weft_handshake_welcome(weft_handshake_t *handshake, const uint8_t secret[], uint32_t verdict)
{
    uint32_t sent = htole32(verdict);
    memcpy(handshake->welcome, &sent, WEFT_VERDICT_BYTES);
    prove(handshake, secret, CALLED, sent, handshake->welcome + WEFT_VERDICT_BYTES);
}

bool weft_handshake_check(const weft_handshake_t *handshake, const uint8_t secret[],
                          uint32_t *verdict_out)
{
    uint8_t expected[WEFT_PROOF_BYTES];
    uint32_t verdict;
    memcpy(&verdict, handshake->welcome, WEFT_VERDICT_BYTES);
    prove(handshake, secret, CALLED, verdict, expected);
    if (!are_equal(expected, handshake->welcome + WEFT_VERDICT_BYTES))
        return false;
    *verdict_out = le32toh(verdict);
    return true;
}
