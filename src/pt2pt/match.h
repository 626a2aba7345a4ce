/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching: an ordered queue of entries (context, source, tag) and the search for the first that
 * matches. It serves twice: receives wait for messages in it (entries may hold wildcards, what is
 * looked for does not), and messages wait for receives (the other way round).
 *
 *   short queue:  order: e1 <-> e2 <-> e3          looked through from the front
 *   long queue:   bins by a hash of (context, source, tag), one set of them for each combination of
 *                 wildcards; a message that waits stands in all four sets, since a receive may ask
 * with any combination; a receive that waits stands in one bin, and four are looked at: its number
 * decides between them
 *
 * So a search costs the same with ten entries and with ten thousand.
 */
#ifndef WEFT_PT2PT_MATCH_H
#define WEFT_PT2PT_MATCH_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_MATCH_BINS = 4 };

typedef struct weft_match_key {
    uint32_t context;
    int source; /* process, or MPI_ANY_SOURCE */
    int tag;    /* or MPI_ANY_TAG */
} weft_match_key_t;

typedef struct weft_match_entry {
    weft_link_t order;
    weft_link_t bins[WEFT_MATCH_BINS]; /* in use while the queue is long */
    weft_match_key_t key;
    uint64_t number; /* place in the order of arrival */
} weft_match_entry_t;

typedef struct weft_match_queue {
    weft_list_t order;
    size_t count;
    uint64_t next_number;
    bool holds_messages; /* no wildcards in entries, perhaps some in what is looked for */
    bool is_long;        /* entries stand in bins as well as in order */
    weft_list_t *bins;   /* [copies][bin_count], kept (empty) when the queue is short again */
    size_t bin_count;    /* a power of two */
} weft_match_queue_t;

void weft_match_init(weft_match_queue_t *queue, bool holds_messages);

/** Append; entry->key is set. */
void weft_match_add(weft_match_queue_t *queue, weft_match_entry_t *entry);

void weft_match_remove(weft_match_queue_t *queue, weft_match_entry_t *entry);

/** The first entry that matches `key`; NULL: none. It stays in the queue. */
weft_match_entry_t *weft_match_find(const weft_match_queue_t *queue, weft_match_key_t key);

/** Free the bins; the entries are their owners'. */
void weft_match_close(weft_match_queue_t *queue);

#endif
