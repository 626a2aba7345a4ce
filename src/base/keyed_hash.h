/* SPDX-License-Identifier: BSD-3-Clause */
/* SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012). Only a process that knows the secret can
 * compute it. */
#ifndef WEFT_BASE_KEYED_HASH_H
#define WEFT_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { WEFT_SECRET_BYTES = 16, WEFT_PROOF_BYTES = 16 };

void weft_keyed_hash(const uint8_t secret[WEFT_SECRET_BYTES], const void *data, size_t bytes,
                     uint8_t out[WEFT_PROOF_BYTES]);

#endif
