/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where ranks are on the network. The highest rank of each host publishes one card for all ranks of
 * the host through PMIx; others read it when they first talk to one of them. There is no fence of
 * all ranks and no table of all addresses.
 *
 * A card has a random token, from which the key of each rank of the host is computed. A process
 * that knows the key of a rank belongs to the job, since only ranks of the job can read the card.
 */
#ifndef WEFT_NET_ADDRESS_CARD_H
#define WEFT_NET_ADDRESS_CARD_H

#include "runtime/transport.h"
#include "base/keyed_hash.h"

#include <stdint.h>

enum { WEFT_ADDRESS_MOST = 128 };

/** The addresses of a rank, one for each interface (rail). */
typedef struct weft_addresses {
    uint32_t rails;
    struct {
        uint32_t bytes; /* the same for all ranks of a host */
        unsigned char data[WEFT_ADDRESS_MOST];
    } rail[WEFT_RAILS_MAX];
} weft_addresses_t;

/**
 * Tell the others where this rank is. Collective over the ranks of this host, whose addresses have
 * the same shape; weft_world.fabric is set, weft_nodes_open() was called.
 * own_key_out  the key that a process must know to talk to this rank
 * returns      MPI_SUCCESS; MPI_ERR_OTHER with a text; MPI_ERR_NO_MEM
 */
int weft_card_publish(const weft_addresses_t *own, uint8_t own_key_out[WEFT_SECRET_BYTES]);

/** The addresses of a rank of another host, and its key. Waits, WEFT_TIMEOUT seconds at most, for
 *  its card. MPI_ERR_OTHER with a text, also when that host opened another fabric. */
int weft_card_read(int rank, weft_addresses_t *out, uint8_t key_out[WEFT_SECRET_BYTES]);

/** The name of a rank's host, "another host" if its card was not read. */
const char *weft_card_host(int rank);

void weft_card_close(void);

#endif
