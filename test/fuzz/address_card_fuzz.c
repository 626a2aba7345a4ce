/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address card of another host: the input is added, bit by bit, to a good one, behind two bytes
 * that say where that begins and where the card ends; or (first byte 255) the rest is the card.
 * fuzz: runs=60000 most=800 of=net,runtime,base
 */
#include "input.h"

#include "base/config.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"
#include "net/address_card.h"
#include "runtime/nodes.h"
#include "runtime/world.h"

enum { HERE = 3, RANKS = 6, CARD_MOST = 8192 };

static weft_addresses_t names[HERE];                   /* of the ranks of this host */
static unsigned char own[CARD_MOST], other[CARD_MOST]; /* cards as published, and as read */
static size_t own_bytes, other_bytes;

/* ---- a launcher: ranks 0 to 2 are here, 3 to 5 on another host ---- */

static int put(const char *key, const void *data, size_t bytes)
{
    (void)key, (void)data, (void)bytes;
    return MPI_SUCCESS;
}

static int fence(void)
{
    return MPI_SUCCESS;
}

static int copy_out(const void *data, size_t bytes, void **out, size_t *bytes_out)
{
    *out = weft_alloc(bytes);
    if (bytes > 0)
        memcpy(*out, data, bytes);
    *bytes_out = bytes;
    return MPI_SUCCESS;
}

static int get(int rank, const char *key, void **out, size_t *bytes_out)
{
    (void)key;
    return copy_out(&names[rank], sizeof(names[rank]), out, bytes_out);
}

static int publish(const char *key, const void *data, size_t bytes)
{
    (void)key;
    memcpy(own, data, bytes);
    own_bytes = bytes;
    return MPI_SUCCESS;
}

static int await(int rank, const char *key, int limit_s, void **out, size_t *bytes_out)
{
    (void)key, (void)limit_s;
    return rank < HERE ? copy_out(own, own_bytes, out, bytes_out)
                       : copy_out(other, other_bytes, out, bytes_out);
}

static int find_nodes(int *node_of)
{
    for (int rank = 0; rank < RANKS; rank++)
        node_of[rank] = rank / HERE;
    return MPI_SUCCESS;
}

static void set_up(void)
{
    static const weft_wireup_t wireup = {.put = put,
                                         .fence = fence,
                                         .get = get,
                                         .publish = publish,
                                         .await = await,
                                         .find_nodes = find_nodes};
    static const int local_ranks[HERE] = {0, 1, 2};
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = RANKS;
    fuzz_expect(weft_processes_open(RANKS, HERE - 1) == MPI_SUCCESS, "no memory");
    weft_world.rank = weft_world.local_rank = HERE - 1;
    weft_world.local_size = HERE;
    weft_world.local_ranks = local_ranks;
    weft_world.host = "here";
    weft_world.fabric = "fake";
    weft_world.wireup = &wireup;
    fuzz_expect(weft_nodes_open() == MPI_SUCCESS, "no memory");
    for (int rank = 0; rank < HERE; rank++) {
        names[rank].rails = 2;
        for (int rail = 0; rail < 2; rail++) {
            names[rank].rail[rail].bytes = 16;
            memset(names[rank].rail[rail].data, 16 * rank + rail, 16);
        }
    }
}

static void spoil(fuzz_input_t *input)
{
    unsigned begin = fuzz_byte(input), end = fuzz_byte(input);
    memcpy(other, own, own_bytes);
    other_bytes = own_bytes;
    if (begin == 255) {
        other_bytes = input->left < CARD_MOST ? input->left : CARD_MOST;
        memcpy(other, input->at, other_bytes);
        return;
    }
    if (end > 0 && end < other_bytes)
        other_bytes = end;
    for (size_t at = begin; at < other_bytes && input->left > 0; at++)
        other[at] ^= (unsigned char)fuzz_byte(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool is_set_up;
    fuzz_input_t input = {data, bytes};
    uint8_t key[WEFT_SECRET_BYTES];
    if (!is_set_up)
        set_up();
    is_set_up = true;
    fuzz_expect(weft_card_publish(&names[HERE - 1], key) == MPI_SUCCESS, "there is no card");
    spoil(&input);
    for (int rank = HERE; rank < RANKS; rank++) {
        weft_addresses_t read;
        int err = weft_card_read(rank, &read, key);
        fuzz_expect(err == MPI_SUCCESS || err == MPI_ERR_OTHER, "an error of another class");
        for (uint32_t rail = 0; err == MPI_SUCCESS && rail < read.rails; rail++)
            fuzz_expect(read.rails <= WEFT_RAILS_MAX && read.rail[rail].bytes <= WEFT_ADDRESS_MOST,
                        "an address is too long");
        fuzz_expect(strlen(weft_card_host(rank)) < 64, "the name of a host is too long");
    }
    weft_card_close();
    return 0;
}
