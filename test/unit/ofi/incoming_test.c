/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets from the network: foreign and malformed ones are dropped and counted; those of peers are
 * delivered once, complete and in order, however the network reorders them. */
#include "config.h"
#ifndef HAVE_LIBFABRIC
int main(void)
{
    return 77;
}
#else

#include "ofi/ofi_private.h"

#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5, ROUNDS = 20000, WINDOW = 40, PAYLOAD = 300 };

static const uint64_t key = 0x0123456789abcdefULL;
static uint64_t state;
static unsigned delivered[RANKS], handed_on;

static unsigned pick(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static unsigned char content(int source, unsigned number, unsigned at)
{
    return (unsigned char)((unsigned)source * 7 + number * 3 + at);
}

static void sink(int source, weft_header_t header, const void *payload)
{
    unsigned number = delivered[source]++;
    handed_on++;
    assert_int_equal(header.context, number);
    for (unsigned at = 0; at < header.bytes; at++)
        assert_int_equal(((const unsigned char *)payload)[at], content(source, number, at));
}

static void set_up(unsigned seed)
{
    state = seed;
    handed_on = 0;
    memset(delivered, 0, sizeof(delivered));
    weft_world.rank = 0;
    weft_world.size = RANKS;
    assert_int_equal(weft_processes_open(RANKS, 0), MPI_SUCCESS);
    wefti_ofi = (weft_ofi_t){.sink = sink, .own_key = key};
    wefti_ofi.rails[0].packet_max = 65536;
    assert_int_equal(weft_net_peers_open(&wefti_ofi.net), MPI_SUCCESS);
}

static void tear_down(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        if (wefti_ofi.net.at[rank] != NULL)
            wefti_incoming_forget((weft_ofi_peer_t *)wefti_ofi.net.at[rank]);
    }
    weft_net_peers_close(&wefti_ofi.net);
    weft_processes_close();
}

/* The packet lies in a separate block, so that a sanitizer detects reads beyond it. */
static void arrive(const weft_wire_t *wire, const unsigned char *payload, size_t bytes)
{
    unsigned char whole[sizeof(*wire) + PAYLOAD];
    memcpy(whole, wire, sizeof(*wire));
    memcpy(whole + sizeof(*wire), payload, PAYLOAD);
    char *packet = malloc(bytes);
    memcpy(packet, whole, bytes);
    wefti_packet_in(packet, bytes);
    free(packet);
}

static weft_wire_t good(int source, unsigned number, unsigned bytes, unsigned char *payload)
{
    for (unsigned at = 0; at < PAYLOAD; at++)
        payload[at] = content(source, number, at);
    return (weft_wire_t){.key = key,
                         .source = (uint32_t)source,
                         .sequence = number,
                         .context = number,
                         .bytes = bytes,
                         .kind = 1,
                         .version = WEFT_WIRE_VERSION};
}

static void test_garbage(void **unused)
{
    unsigned char payload[PAYLOAD];
    (void)unused;
    set_up(1);
    for (int round = 0; round < ROUNDS; round++) {
        weft_wire_t wire;
        for (size_t i = 0; i < sizeof(wire); i++)
            ((unsigned char *)&wire)[i] = (unsigned char)pick(256);
        for (int i = 0; i < PAYLOAD; i++)
            payload[i] = (unsigned char)pick(256);
        arrive(&wire, payload, pick(sizeof(wire) + PAYLOAD));
    }
    assert_int_equal(handed_on, 0);
    assert_int_equal(wefti_ofi.dropped, ROUNDS);
    tear_down();
}

/* Make one field or the length of a good packet wrong. */
static size_t spoil(weft_wire_t *wire, size_t bytes)
{
    switch (pick(6)) {
    case 0:
        wire->key ^= 1ULL << pick(64);
        break;
    case 1:
        wire->source = pick(2) ? 0 : RANKS + pick(1u << 30);
        break;
    case 2:
        wire->bytes += 1 + pick(1000);
        break;
    case 3:
        wire->version++;
        break;
    case 4:
        wire->sequence -= 1 + pick(1 << 20); /* a duplicate, or far out of order */
        break;
    default:
        return pick((unsigned)bytes);
    }
    return bytes;
}

static void test_mutations(void **unused)
{
    unsigned char payload[PAYLOAD];
    unsigned sent[RANKS] = {0};
    uint64_t spoilt = 0;
    (void)unused;
    set_up(2);
    for (int round = 0; round < ROUNDS; round++) {
        int source = 1 + (int)pick(RANKS - 1);
        unsigned bytes = pick(PAYLOAD);
        weft_wire_t wire = good(source, sent[source], bytes, payload);
        size_t length = sizeof(wire) + bytes;
        bool is_good = pick(2) == 0;
        if (!is_good)
            length = spoil(&wire, length);
        arrive(&wire, payload, length);
        spoilt += !is_good;
        sent[source] += is_good;
        assert_int_equal(delivered[source], sent[source]);
        assert_int_equal(wefti_ofi.dropped, spoilt);
    }
    tear_down();
}

/* WINDOW packets at a time arrive in any order, some of them twice, and numbers wrap. */
static void test_order(void **unused)
{
    unsigned char payload[PAYLOAD];
    unsigned numbers[WINDOW];
    (void)unused;
    set_up(3);
    wefti_ofi_peer(1)->received = UINT32_MAX - WINDOW / 2;
    delivered[1] = UINT32_MAX - WINDOW / 2;
    for (int round = 0; round < 200; round++) {
        unsigned first = delivered[1];
        for (unsigned i = 0; i < WINDOW; i++)
            numbers[i] = first + i;
        for (unsigned i = WINDOW; i > 0; i--) {
            unsigned other = pick(i), number = numbers[other];
            numbers[other] = numbers[i - 1];
            weft_wire_t wire = good(1, number, pick(PAYLOAD), payload);
            arrive(&wire, payload, sizeof(wire) + wire.bytes);
            if (pick(5) == 0)
                arrive(&wire, payload, sizeof(wire) + wire.bytes);
        }
        assert_int_equal(delivered[1], first + WINDOW);
    }
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_garbage),
                                       cmocka_unit_test(test_mutations),
                                       cmocka_unit_test(test_order)};
    weft_log_threshold = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
