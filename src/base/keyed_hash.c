/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/keyed_hash.h"

#include <endian.h>
#include <string.h>

typedef struct state {
    uint64_t v0, v1, v2, v3;
} siphash_state_t;

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(siphash_state_t *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32) + s->v3;
        s->v2 += s->v1;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static void absorb(siphash_state_t *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s, 2);
    s->v0 ^= word;
}

static uint64_t load_word(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    return le64toh(word);
}

static void store_word(uint64_t word, uint8_t *to)
{
    word = htole64(word);
    memcpy(to, &word, sizeof(word));
}

void weft_keyed_hash(const uint8_t secret[WEFT_SECRET_BYTES], const void *data, size_t bytes,
                     uint8_t out[WEFT_PROOF_BYTES])
{
    const uint8_t *from = data;
    uint64_t k0 = load_word(secret), k1 = load_word(secret + 8);
    siphash_state_t s = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
                         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
    size_t whole = bytes - bytes % 8;
    for (size_t i = 0; i < whole; i += 8)
        absorb(&s, load_word(from + i));
    uint8_t last[8] = {0};
    memcpy(last, from + whole, bytes % 8);
    last[7] = (uint8_t)bytes;
    absorb(&s, load_word(last));
    s.v2 ^= 0xee;
    mix(&s, 4);
    store_word(s.v0 ^ s.v1 ^ s.v2 ^ s.v3, out);
    s.v1 ^= 0xdd;
    mix(&s, 4);
    store_word(s.v0 ^ s.v1 ^ s.v2 ^ s.v3, out + 8);
}
