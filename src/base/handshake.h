/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process that connects (the caller) and the one that it connects to (the called) prove to
 * each other that they know a secret, without showing it: two ranks, or two nodes of the launcher.
 * Another process may answer at an address, since the bridge of containers has the same address on
 * many hosts; it learns nothing that is of use elsewhere.
 *
 *   called                                     caller
 *   hello: protocol, nonce  ------->
 *                      <-------  reply: name, own nonce, hash(secret, "caller", all so far)
 *   welcome: verdict, hash(secret, "called", all so far)  ------->
 *
 * The place is the address and port at which the caller believes to reach the called. Because it
 * is hashed too, a process in between cannot pass a handshake on to the right place. It is zero
 * where it is not compared, since the called may be behind a translation of addresses.
 */
#ifndef WEFT_BASE_HANDSHAKE_H
#define WEFT_BASE_HANDSHAKE_H

#include "base/keyed_hash.h"

#include <stdbool.h>

enum {
    WEFT_PROTOCOL_BYTES = 8,
    WEFT_NONCE_BYTES = 16,
    WEFT_NAME_BYTES = 48,
    WEFT_PLACE_BYTES = 8,
    WEFT_VERDICT_BYTES = 4,
    WEFT_HELLO_BYTES = WEFT_PROTOCOL_BYTES + WEFT_NONCE_BYTES,
    WEFT_REPLY_BYTES = WEFT_NAME_BYTES + WEFT_NONCE_BYTES + WEFT_PROOF_BYTES,
    WEFT_WELCOME_BYTES = WEFT_VERDICT_BYTES + WEFT_PROOF_BYTES,
};

/** One handshake; each side fills in what it sends and what it receives, in this order. */
typedef struct weft_handshake {
    uint8_t hello[WEFT_HELLO_BYTES], reply[WEFT_REPLY_BYTES], welcome[WEFT_WELCOME_BYTES];
    uint8_t place[WEFT_PLACE_BYTES]; /* the same on both sides; never sent */
} weft_handshake_t;

/**
 * The called side: make hello.
 * protocol  names the protocol and its version; both sides must have the same
 * returns   false: the system gives no random numbers
 */
bool weft_handshake_begin(weft_handshake_t *handshake, const char protocol[WEFT_PROTOCOL_BYTES]);

/**
 * The caller: after hello, make reply.
 * name     says who the caller is, in a form that both sides know
 * returns  false: the other side speaks another protocol, or there are no random numbers
 */
bool weft_handshake_answer(weft_handshake_t *handshake, const char protocol[WEFT_PROTOCOL_BYTES],
                           const uint8_t secret[], const void *name, size_t name_bytes);

/** The called side: after reply, read the name; it is true if weft_handshake_accept() says so. */
void weft_handshake_name(const weft_handshake_t *handshake, void *out, size_t bytes);

/** The called side: after reply; false: the caller does not know the secret, or meant to reach
 *  another place. */
bool weft_handshake_accept(const weft_handshake_t *handshake, const uint8_t secret[]);

/** The called side: make welcome, with a verdict that both sides know the meaning of. */
void weft_handshake_welcome(weft_handshake_t *handshake, const uint8_t secret[], uint32_t verdict);

/** The caller: after welcome, check it; false: the called side does not know the secret, or is at
 *  another place. */
bool weft_handshake_check(const weft_handshake_t *handshake, const uint8_t secret[],
                          uint32_t *verdict_out);

#endif
