/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a daemon that connects (the caller) and the node that it connects to (the called) prove to
 * each other that they know the job's secret. Another process may answer at an address, since
 * docker0 of two hosts can have the same; it does not learn the secret.
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
    WL_NONCE_BYTES = 16,
    WL_HELLO_BYTES = 8 + WL_NONCE_BYTES,
    WL_REPLY_BYTES = 4 + WL_NONCE_BYTES + WEFT_PROOF_BYTES,
    WL_WELCOME_BYTES = WEFT_PROOF_BYTES,
};

/** One handshake; each side fills in what it sends and what it receives, in this order. */
typedef struct wl_handshake {
    uint8_t hello[WL_HELLO_BYTES], reply[WL_REPLY_BYTES], welcome[WL_WELCOME_BYTES];
} wl_handshake_t;

/** The called side: make hello; false: the system gives no random numbers. */
bool wl_handshake_begin(wl_handshake_t *handshake);

/** The caller: after hello, make reply; false: the other side is no daemon of Weft. */
bool wl_handshake_answer(wl_handshake_t *handshake, const uint8_t secret[], int node);

/** The called side: after reply, make welcome; false: the caller does not know the secret. */
bool wl_handshake_accept(wl_handshake_t *handshake, const uint8_t secret[], int *node_out);

/** The caller: after welcome, check it; false: the called side does not know the secret. */
bool wl_handshake_check(const wl_handshake_t *handshake, const uint8_t secret[]);

#endif
