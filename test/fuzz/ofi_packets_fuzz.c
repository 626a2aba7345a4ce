/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that come from libfabric: two bytes of length, then the packet, and so on. "KEYKEYKE" in
 * the input becomes the key of this rank.
 * fuzz: runs=100000 most=1000 of=ofi,net,base
 */
#include "input.h"

#include "config.h"

#ifndef HAVE_LIBFABRIC
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    (void)data, (void)bytes;
    return 0;
}
#else

#include "base/log.h"
#include "mpi.h"
#include "ofi/ofi_private.h"

enum { RANKS = 5 };

static const char key_word[8] = {'K', 'E', 'Y', 'K', 'E', 'Y', 'K', 'E'};

static void ofi_fuzz_sink(int source, weft_header_t header, const void *payload)
{
    volatile unsigned char last = 0;
    fuzz_expect(source > 0 && source < RANKS, "a packet is of no peer");
    for (unsigned at = 0; at < header.bytes; at++)
        last = ((const unsigned char *)payload)[at];
    (void)last;
}

static void set_up(void)
{
    weft_log_threshold = -1;
    weft_world.rank = 0;
    weft_world.size = RANKS;
    fuzz_expect(weft_processes_open(RANKS, 0) == MPI_SUCCESS, "no memory");
    wefti_ofi = (weft_ofi_t){.sink = ofi_fuzz_sink};
    memcpy(&wefti_ofi.own_key, key_word, sizeof(key_word));
    wefti_ofi.rails[0].packet_max = 65536;
    fuzz_expect(weft_net_peers_open(&wefti_ofi.net) == MPI_SUCCESS, "no memory");
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t input = {data, bytes};
    set_up();
    while (input.left > 0) {
        size_t wanted = fuzz_short(&input) % 1024;
        size_t length = wanted < input.left ? wanted : input.left;
        char *packet = fuzz_copy(input.at, length);
        wefti_packet_in(packet, length);
        free(packet);
        input.at += length;
        input.left -= length;
    }
    tear_down();
    return 0;
}
#endif
