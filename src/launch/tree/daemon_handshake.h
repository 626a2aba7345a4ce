/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a daemon that calls and the one that is called make sure of each other. Whoever may answer at
 * an address (another host's docker0 can have the same as ours), nobody learns the secret.
 *
 *   called                                     caller
 *   hello: "weft", protocol, nonce  ------->
 *                      <-------  reply: node, own nonce, hash(secret, "caller", hello, node, nonce)
 *   welcome: hash(secret, "called", hello, reply)  ------->
 */
#ifndef WEFT_LAUNCH_TREE_DAEMON_HANDSHAKE_H
#define WEFT_LAUNCH_TREE_DAEMON_HANDSHAKE_H

#include "base/keyed_hash.h"

#include <stdbool.h>

enum {
    WEFT_NONCE_BYTES = 16,
    WEFT_HELLO_BYTES = 8 + WEFT_NONCE_BYTES,
    WEFT_REPLY_BYTES = 4 + WEFT_NONCE_BYTES + WEFT_PROOF_BYTES,
    WEFT_WELCOME_BYTES = WEFT_PROOF_BYTES,
};

/** One greeting; each side fills in what it sends and what it gets, in this order. */
typedef struct weft_greeting {
    uint8_t hello[WEFT_HELLO_BYTES], reply[WEFT_REPLY_BYTES], welcome[WEFT_WELCOME_BYTES];
} weft_greeting_t;

/** The called side: make hello; false: no random numbers. */
bool weft_greeting_begin(weft_greeting_t *greeting);

/** The caller: after hello, make reply; false: it is not one of ours. */
bool weft_greeting_answer(weft_greeting_t *greeting, const uint8_t secret[], int node);

/** The called side: after reply, make welcome; false: the caller does not know the secret. */
bool weft_greeting_accept(weft_greeting_t *greeting, const uint8_t secret[], int *node_out);

/** The caller: after welcome; false: the called does not know the secret. */
bool weft_greeting_check(const weft_greeting_t *greeting, const uint8_t secret[]);

#endif
