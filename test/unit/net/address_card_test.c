/* SPDX-License-Identifier: BSD-3-Clause */
/* Address cards: other hosts read what a host publishes, whatever its addresses look like; a card
 * that was cut, changed or forged is refused or read within its bounds. */
#include "net/address_card.h"

#include "runtime/nodes.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HERE = 3, RANKS = 6, ROUNDS = 20000, CARD_MOST = 8192 };

static uint64_t state = 5;
static weft_addresses_t names[HERE];                   /* of the ranks of this host */
static unsigned char own[CARD_MOST], other[CARD_MOST]; /* cards as published */
static size_t own_bytes, other_bytes;

static unsigned pick(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

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
    *out = weft_alloc(bytes); /* a separate block, so that a sanitizer detects reads beyond it */
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
    assert_true(bytes <= CARD_MOST);
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

static const weft_wireup_t wireup = {.put = put,
                                     .fence = fence,
                                     .get = get,
                                     .publish = publish,
                                     .await = await,
                                     .find_nodes = find_nodes};

/* ---- cards ---- */

static void make_names(void)
{
    uint32_t rails = 1 + pick(WEFT_RAILS_MAX), bytes = pick(2) ? 16 : pick(WEFT_ADDRESS_MOST + 1);
    memset(names, 0, sizeof(names));
    for (int rank = 0; rank < HERE; rank++) {
        names[rank].rails = rails;
        for (uint32_t rail = 0; rail < rails; rail++) {
            names[rank].rail[rail].bytes = bytes;
            for (uint32_t at = 0; at < bytes; at++)
                names[rank].rail[rail].data[at] =
                    (unsigned char)(at % 5 == 0 ? pick(256) : at + rail);
        }
    }
}

static void publish_names(void)
{
    uint8_t key[WEFT_SECRET_BYTES];
    weft_card_close();
    make_names();
    assert_int_equal(weft_card_publish(&names[HERE - 1], key), MPI_SUCCESS);
    memcpy(other, own, own_bytes);
    other_bytes = own_bytes;
}

static void test_round_trip(void **unused)
{
    (void)unused;
    for (int round = 0; round < 500; round++) {
        publish_names();
        for (int rank = 0; rank < HERE; rank++) {
            weft_addresses_t read;
            uint8_t key[WEFT_SECRET_BYTES];
            assert_int_equal(weft_card_read(HERE + rank, &read, key), MPI_SUCCESS);
            assert_memory_equal(&read, &names[rank], sizeof(read));
        }
    }
}

/* A host with another version of Weft, whose packets would be dropped. */
static void test_version(void **unused)
{
    enum { VERSION_AT = 4 };
    weft_addresses_t read;
    uint8_t key[WEFT_SECRET_BYTES];
    (void)unused;
    publish_names();
    other[VERSION_AT]++;
    assert_int_equal(weft_card_read(HERE, &read, key), MPI_ERR_OTHER);
    assert_non_null(strstr(weft_fail_text(), "rank 5 runs another version of Weft"));
}

static void spoil(void)
{
    unsigned what = pick(4);
    if (what == 0)
        other_bytes = pick((unsigned)other_bytes + 1);
    for (unsigned i = pick(6); what == 1 && i > 0; i--)
        other[pick((unsigned)other_bytes)] ^= (unsigned char)(1u << pick(8));
    for (unsigned i = pick(4); what == 2 && i > 0; i--)
        other[pick(200)] = (unsigned char)pick(256); /* its head and the first base */
    if (what == 3) {
        other_bytes = pick(CARD_MOST);
        for (size_t at = pick(2) * 24; at < other_bytes; at++)
            other[at] = (unsigned char)pick(256);
    }
}

static void test_spoilt(void **unused)
{
    (void)unused;
    unsigned refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        weft_addresses_t read;
        uint8_t key[WEFT_SECRET_BYTES];
        publish_names();
        spoil();
        int err = weft_card_read(HERE + (int)pick(HERE), &read, key);
        assert_true(err == MPI_SUCCESS || err == MPI_ERR_OTHER);
        refused += err != MPI_SUCCESS;
        for (uint32_t rail = 0; err == MPI_SUCCESS && rail < read.rails; rail++)
            assert_true(read.rail[rail].bytes <= WEFT_ADDRESS_MOST);
        assert_true(strlen(weft_card_host(HERE)) < 64);
    }
    assert_true(refused > ROUNDS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_version),
                                       cmocka_unit_test(test_spoilt)};
    static const int local_ranks[HERE] = {0, 1, 2};
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.size = RANKS;
    if (weft_processes_open(RANKS, HERE - 1) != MPI_SUCCESS)
        return 1;
    weft_world.rank = weft_world.local_rank = HERE - 1;
    weft_world.local_size = HERE;
    weft_world.local_ranks = local_ranks;
    weft_world.host = "here";
    weft_world.fabric = "fake";
    weft_world.wireup = &wireup;
    if (weft_nodes_open() != MPI_SUCCESS)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_card_close();
    weft_nodes_close();
    return failed;
}
