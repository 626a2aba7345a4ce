/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   card:  head | rail 0: base address, which bytes of it vary | ... | rank 0: its varying bytes of
 *          all rails | rank 1 | ...
 *
 * On IP networks the addresses of a host's ranks differ in the two bytes of the port: the card of 8
 * ranks has 180 bytes in all.
 *
 * The card must be the first thing that its rank gives to the launcher: a rank that asks for it
 * earlier is made to wait for the other's first commit, and is told that there is no card if that
 * commit has none. So the lowest rank does not publish it, since that gives the invitation to
 * shared memory first.
 */
#include "net/address_card.h"

#include "runtime/nodes.h"
#include "runtime/world.h"
#include "net/net_packet.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { CARD_MAGIC = 0x57465443 };

static const char card_key[] = "weft.card", name_key[] = "weft.name";

typedef struct rail_base {
    uint8_t bytes;
    uint8_t varies[WEFT_ADDRESS_MOST / 8]; /* a bit for each byte */
    unsigned char address[WEFT_ADDRESS_MOST];
} rail_base_t;

typedef struct card_head {
    uint32_t magic, version;
    uint8_t token[WEFT_SECRET_BYTES];
    uint32_t ranks, rails;
    char provider[48], host[64];
} card_head_t;

/* A host's card, decoded. */
typedef struct card {
    card_head_t head;
    rail_base_t rails[WEFT_RAILS_MAX];
    size_t rank_bytes;        /* varying bytes of one rank */
    unsigned char *rank_data; /* [head.ranks][rank_bytes] */
} card_t;

static card_t **cards; /* [hosts]; NULL: not read yet */

/* Different for each rank of a host, so that a rank does not take a packet for another one. */
static void make_key(const uint8_t token[WEFT_SECRET_BYTES], int rank,
                     uint8_t out[WEFT_SECRET_BYTES])
{
    weft_keyed_hash(token, &rank, sizeof(rank), out);
}

/* ---- writing ---- */

static bool does_vary(const rail_base_t *base, size_t byte)
{
    return (base->varies[byte / 8] >> (byte % 8) & 1) != 0;
}

static void find_base(const weft_addresses_t *all, int ranks, int rail, rail_base_t *out)
{
    const unsigned char *first = all[0].rail[rail].data;
    out->bytes = (uint8_t)all[0].rail[rail].bytes;
    memcpy(out->address, first, out->bytes);
    for (size_t byte = 0; byte < out->bytes; byte++) {
        for (int i = 1; i < ranks; i++) {
            if (all[i].rail[rail].data[byte] != first[byte])
                out->varies[byte / 8] |= (uint8_t)(1 << byte % 8);
        }
    }
}

static size_t count_varying(const card_t *card)
{
    size_t count = 0;
    for (uint32_t rail = 0; rail < card->head.rails; rail++) {
        for (size_t byte = 0; byte < card->rails[rail].bytes; byte++)
            count += does_vary(&card->rails[rail], byte);
    }
    return count;
}

static void write_rank(const card_t *card, const weft_addresses_t *names, unsigned char *to)
{
    for (uint32_t rail = 0; rail < card->head.rails; rail++) {
        for (size_t byte = 0; byte < card->rails[rail].bytes; byte++) {
            if (does_vary(&card->rails[rail], byte))
                *to++ = names->rail[rail].data[byte];
        }
    }
}

static size_t base_bytes(const rail_base_t *base)
{
    return offsetof(rail_base_t, address) + base->bytes;
}

static int publish_card(const card_t *card, const weft_addresses_t *all)
{
    size_t bytes = sizeof(card->head) + card->rank_bytes * card->head.ranks;
    for (uint32_t i = 0; i < card->head.rails; i++)
        bytes += base_bytes(&card->rails[i]);
    unsigned char *text = weft_alloc(bytes), *at = text;
    if (text == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the addresses of this host");
    memcpy(at, &card->head, sizeof(card->head));
    at += sizeof(card->head);
    for (uint32_t i = 0; i < card->head.rails; i++) {
        memcpy(at, &card->rails[i], base_bytes(&card->rails[i]));
        at += base_bytes(&card->rails[i]);
    }
    for (uint32_t i = 0; i < card->head.ranks; i++, at += card->rank_bytes)
        write_rank(card, &all[i], at);
    int err = weft_world.wireup->publish(card_key, text, bytes);
    weft_free(text);
    return err;
}

static int make_card(const weft_addresses_t *all)
{
    card_t card = {.head = {.magic = CARD_MAGIC,
                            .version = WEFT_WIRE_VERSION,
                            .ranks = (uint32_t)weft_world.local_size,
                            .rails = all[0].rails}};
    int err = weft_random(card.head.token, sizeof(card.head.token));
    if (err != MPI_SUCCESS)
        return err;
    snprintf(card.head.provider, sizeof(card.head.provider), "%s", weft_world.fabric);
    snprintf(card.head.host, sizeof(card.head.host), "%.63s", weft_world.host);
    for (int i = 0; i < (int)card.head.rails; i++)
        find_base(all, weft_world.local_size, i, &card.rails[i]);
    card.rank_bytes = count_varying(&card);
    return publish_card(&card, all);
}

static int gather_names(weft_addresses_t *all)
{
    for (int i = 0; i < weft_world.local_size - 1; i++) {
        void *data;
        size_t bytes;
        int err = weft_world.wireup->get(weft_world.local_ranks[i], name_key, &data, &bytes);
        if (err != MPI_SUCCESS)
            return err;
        if (bytes == sizeof(weft_addresses_t))
            memcpy(&all[i], data, sizeof(weft_addresses_t));
        weft_free(data);
        if (bytes != sizeof(weft_addresses_t))
            return weft_fail(MPI_ERR_OTHER, "rank %d runs another version of Weft",
                             weft_world.local_ranks[i]);
    }
    return MPI_SUCCESS;
}

static int gather_and_publish(const weft_addresses_t *own)
{
    weft_addresses_t *all = weft_alloc_array((size_t)weft_world.local_size, sizeof(*all));
    if (all == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the addresses of this host");
    all[weft_world.local_size - 1] = *own;
    int err = gather_names(all);
    if (err == MPI_SUCCESS)
        err = make_card(all);
    weft_free(all);
    return err;
}

/* ---- reading ---- */

/* Take `bytes` bytes from a card; false: it is shorter than that. */
static bool card_take_bytes(const unsigned char **from, const unsigned char *end, void *to,
                            size_t bytes)
{
    if ((size_t)(end - *from) < bytes)
        return false;
    memcpy(to, *from, bytes);
    *from += bytes;
    return true;
}

static bool take_bases(const unsigned char **at, const unsigned char *end, card_t *card)
{
    for (uint32_t i = 0; i < card->head.rails; i++) {
        rail_base_t *base = &card->rails[i];
        if (!card_take_bytes(at, end, base, offsetof(rail_base_t, address)) ||
            base->bytes > WEFT_ADDRESS_MOST ||
            !card_take_bytes(at, end, base->address, base->bytes))
            return false;
    }
    return true;
}

static bool decode(const void *data, size_t bytes, card_t *card)
{
    const unsigned char *at = data, *end = at + bytes;
    if (!card_take_bytes(&at, end, &card->head, sizeof(card->head)) ||
        card->head.magic != CARD_MAGIC || card->head.version != WEFT_WIRE_VERSION ||
        card->head.rails == 0 || card->head.rails > WEFT_RAILS_MAX || !take_bases(&at, end, card))
        return false;
    card->head.provider[sizeof(card->head.provider) - 1] = '\0';
    card->head.host[sizeof(card->head.host) - 1] = '\0';
    card->rank_bytes = count_varying(card);
    size_t rest = (size_t)(end - at);
    if (rest != card->rank_bytes * card->head.ranks)
        return false;
    card->rank_data = weft_alloc(rest);
    return card->rank_data != NULL && card_take_bytes(&at, end, card->rank_data, rest);
}

static void free_card(card_t *card)
{
    if (card != NULL)
        weft_free(card->rank_data);
    weft_free(card);
}

static int read_card(int rank, int limit_s, card_t **out)
{
    void *data;
    size_t bytes;
    int author = weft_node_last(weft_node_of(weft_process_find(WEFT_OWN_JOB, rank)));
    int err = weft_world.wireup->await(author, card_key, limit_s, &data, &bytes);
    if (err != MPI_SUCCESS)
        return err;
    card_t *card = weft_alloc_zeroed(1, sizeof(*card));
    bool is_good = card != NULL && decode(data, bytes, card);
    weft_free(data);
    if (is_good) {
        *out = card;
        return MPI_SUCCESS;
    }
    free_card(card);
    return weft_fail(MPI_ERR_OTHER, "rank %d runs another version of Weft, or there is no memory",
                     author);
}

static int find_card(int rank, int limit_s, card_t **out)
{
    if (cards == NULL)
        cards = weft_alloc_zeroed((size_t)weft_nodes_count(), sizeof(card_t *));
    if (cards == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the cards of %d hosts", weft_nodes_count());
    card_t **card = &cards[weft_node_of(weft_process_find(WEFT_OWN_JOB, rank))];
    int err = *card == NULL ? read_card(rank, limit_s, card) : MPI_SUCCESS;
    *out = *card;
    return err;
}

/* The place of a rank among those of its host. */
static uint32_t index_on_host(int rank)
{
    uint32_t index = 0;
    int node = weft_node_of(weft_process_find(WEFT_OWN_JOB, rank));
    for (int before = weft_node_first(node); before < rank; before++)
        index += weft_node_of(weft_process_find(WEFT_OWN_JOB, before)) == node;
    return index;
}

static void card_read_rank(const card_t *card, uint32_t index, weft_addresses_t *out)
{
    const unsigned char *from = card->rank_data + index * card->rank_bytes;
    *out = (weft_addresses_t){.rails = card->head.rails};
    for (uint32_t rail = 0; rail < card->head.rails; rail++) {
        const rail_base_t *base = &card->rails[rail];
        out->rail[rail].bytes = base->bytes;
        memcpy(out->rail[rail].data, base->address, base->bytes);
        for (size_t byte = 0; byte < base->bytes; byte++) {
            if (does_vary(base, byte))
                out->rail[rail].data[byte] = *from++;
        }
    }
}

/* Both sides must have opened the same network. */
static int check_card(const card_t *card, int rank)
{
    if (strcmp(card->head.provider, weft_world.fabric) != 0)
        return weft_fail(MPI_ERR_OTHER,
                         "rank %d on %s opened the network %s, this rank on %s opened %s: set "
                         "WEFT_FABRIC or FI_PROVIDER alike on all hosts",
                         rank, card->head.host, card->head.provider, weft_world.host,
                         weft_world.fabric);
    return MPI_SUCCESS;
}

int weft_card_read(int rank, weft_addresses_t *out, uint8_t key_out[WEFT_SECRET_BYTES])
{
    card_t *card;
    int err = find_card(rank, weft_config.TIMEOUT, &card);
    if (err == MPI_SUCCESS)
        err = check_card(card, rank);
    if (err != MPI_SUCCESS)
        return err;
    uint32_t index = index_on_host(rank);
    if (index >= card->head.ranks)
        return weft_fail(MPI_ERR_OTHER, "rank %d is not among the %u ranks of %s", rank,
                         card->head.ranks, card->head.host);
    card_read_rank(card, index, out);
    make_key(card->head.token, rank, key_out);
    return MPI_SUCCESS;
}

const char *weft_card_host(int rank)
{
    const card_t *card =
        cards == NULL ? NULL : cards[weft_node_of(weft_process_find(WEFT_OWN_JOB, rank))];
    return card == NULL ? "another host" : card->head.host;
}

/* ---- beginning and end ---- */

static bool card_is_published(int process)
{
    card_t *card;
    return find_card(weft_process_rank(process), 1, &card) == MPI_SUCCESS;
}

int weft_card_publish(const weft_addresses_t *own, uint8_t own_key_out[WEFT_SECRET_BYTES])
{
    bool is_author = weft_world.local_rank == weft_world.local_size - 1;
    int err = MPI_SUCCESS;
    if (!is_author)
        err = weft_world.wireup->put(name_key, own, sizeof(*own));
    if (err == MPI_SUCCESS)
        err = weft_world.wireup->fence();
    if (err == MPI_SUCCESS && is_author)
        err = gather_and_publish(own);
    if (err == MPI_SUCCESS)
        err = weft_world.wireup->fence();
    card_t *card;
    if (err == MPI_SUCCESS)
        err = find_card(weft_world.rank, weft_config.TIMEOUT, &card);
    weft_world.is_published = card_is_published;
    if (err == MPI_SUCCESS)
        make_key(card->head.token, weft_world.rank, own_key_out);
    return err;
}

void weft_card_close(void)
{
    weft_world.is_published = NULL;
    for (int i = 0; cards != NULL && i < weft_nodes_count(); i++)
        free_card(cards[i]);
    weft_free(cards);
    cards = NULL;
}
