/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/daemon_handshake.h"

#include "base/random.h"
#include "mpi.h"

#include <endian.h>
#include <string.h>

enum { LABEL_BYTES = 8, PROOF_AT = WEFT_REPLY_BYTES - WEFT_PROOF_BYTES };

/* The last digit is the protocol's version. */
static const char magic[8] = {'w', 'e', 'f', 't', '-', 'd', '0', '1'};

bool weft_greeting_begin(weft_greeting_t *greeting)
{
    memcpy(greeting->hello, magic, sizeof(magic));
    return weft_random(greeting->hello + sizeof(magic), WEFT_NONCE_BYTES) == MPI_SUCCESS;
}

/* Of hello and the first `reply_bytes` of reply; the label keeps one side's proof from being sent
 * back to it as the other's. */
static void prove(const weft_greeting_t *greeting, const uint8_t secret[], const char *label,
                  size_t reply_bytes, uint8_t out[WEFT_PROOF_BYTES])
{
    uint8_t text[LABEL_BYTES + WEFT_HELLO_BYTES + WEFT_REPLY_BYTES] = {0};
    memcpy(text, label, strlen(label));
    memcpy(text + LABEL_BYTES, greeting->hello, WEFT_HELLO_BYTES);
    memcpy(text + LABEL_BYTES + WEFT_HELLO_BYTES, greeting->reply, reply_bytes);
    weft_keyed_hash(secret, text, LABEL_BYTES + WEFT_HELLO_BYTES + reply_bytes, out);
}

/* In a time that does not tell where the first difference is. */
static bool are_equal(const uint8_t a[WEFT_PROOF_BYTES], const uint8_t b[WEFT_PROOF_BYTES])
{
    uint8_t difference = 0;
    for (int i = 0; i < WEFT_PROOF_BYTES; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

bool weft_greeting_answer(weft_greeting_t *greeting, const uint8_t secret[], int node)
{
    uint32_t number = htole32((uint32_t)node);
    if (memcmp(greeting->hello, magic, sizeof(magic)) != 0)
        return false;
    memcpy(greeting->reply, &number, sizeof(number));
    if (weft_random(greeting->reply + sizeof(number), WEFT_NONCE_BYTES) != MPI_SUCCESS)
        return false;
    prove(greeting, secret, "caller", PROOF_AT, greeting->reply + PROOF_AT);
    return true;
}

bool weft_greeting_accept(weft_greeting_t *greeting, const uint8_t secret[], int *node_out)
{
    uint8_t expected[WEFT_PROOF_BYTES];
    uint32_t number;
    prove(greeting, secret, "caller", PROOF_AT, expected);
    if (!are_equal(expected, greeting->reply + PROOF_AT))
        return false;
    prove(greeting, secret, "called", WEFT_REPLY_BYTES, greeting->welcome);
    memcpy(&number, greeting->reply, sizeof(number));
    *node_out = (int)le32toh(number);
    return true;
}

bool weft_greeting_check(const weft_greeting_t *greeting, const uint8_t secret[])
{
    uint8_t expected[WEFT_PROOF_BYTES];
    prove(greeting, secret, "called", WEFT_REPLY_BYTES, expected);
    return are_equal(expected, greeting->welcome);
}
