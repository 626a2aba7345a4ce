/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/daemon_handshake.h"

#include "base/random.h"
#include "mpi.h"

#include <endian.h>
#include <string.h>

enum { LABEL_BYTES = 8, PROOF_AT = WL_REPLY_BYTES - WEFT_PROOF_BYTES };

/* The last digit is the protocol's version. */
static const char magic[8] = {'w', 'e', 'f', 't', '-', 'd', '0', '1'};

bool wl_handshake_begin(wl_handshake_t *handshake)
{
    memcpy(handshake->hello, magic, sizeof(magic));
    return weft_random(handshake->hello + sizeof(magic), WL_NONCE_BYTES) == MPI_SUCCESS;
}

/* Make the proof over hello and the first `reply_bytes` of reply. Because of the label nobody can
 * send a side its own proof back as that of the other side. */
static void handshake_prove(const wl_handshake_t *handshake, const uint8_t secret[],
                            const char *label, size_t reply_bytes, uint8_t out[WEFT_PROOF_BYTES])
{
    uint8_t text[LABEL_BYTES + WL_HELLO_BYTES + WL_REPLY_BYTES] = {0};
    memcpy(text, label, strlen(label));
    memcpy(text + LABEL_BYTES, handshake->hello, WL_HELLO_BYTES);
    memcpy(text + LABEL_BYTES + WL_HELLO_BYTES, handshake->reply, reply_bytes);
    weft_keyed_hash(secret, text, LABEL_BYTES + WL_HELLO_BYTES + reply_bytes, out);
}

/* Compare in a time that does not depend on where the first difference is. */
static bool handshake_are_equal(const uint8_t a[WEFT_PROOF_BYTES],
                                const uint8_t b[WEFT_PROOF_BYTES])
{
    uint8_t difference = 0;
    for (int i = 0; i < WEFT_PROOF_BYTES; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

bool wl_handshake_answer(wl_handshake_t *handshake, const uint8_t secret[], int node)
{
    uint32_t number = htole32((uint32_t)node);
    if (memcmp(handshake->hello, magic, sizeof(magic)) != 0)
        return false;
    memcpy(handshake->reply, &number, sizeof(number));
    if (weft_random(handshake->reply + sizeof(number), WL_NONCE_BYTES) != MPI_SUCCESS)
        return false;
    handshake_prove(handshake, secret, "caller", PROOF_AT, handshake->reply + PROOF_AT);
    return true;
}

bool wl_handshake_accept(wl_handshake_t *handshake, const uint8_t secret[], int *node_out)
{
    uint8_t expected[WEFT_PROOF_BYTES];
    uint32_t number;
    handshake_prove(handshake, secret, "caller", PROOF_AT, expected);
    if (!handshake_are_equal(expected, handshake->reply + PROOF_AT))
        return false;
    handshake_prove(handshake, secret, "called", WL_REPLY_BYTES, handshake->welcome);
    memcpy(&number, handshake->reply, sizeof(number));
    *node_out = (int)le32toh(number);
    return true;
}

bool wl_handshake_check(const wl_handshake_t *handshake, const uint8_t secret[])
{
    uint8_t expected[WEFT_PROOF_BYTES];
    handshake_prove(handshake, secret, "called", WL_REPLY_BYTES, expected);
    return handshake_are_equal(expected, handshake->welcome);
}
