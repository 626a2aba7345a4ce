/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching: an ordered queue of entries (context, source, tag) and the search for the first that
 * matches. There are two such queues. In one receives wait for messages: its entries may have
 * wildcards, the key that is looked for has none. In the other messages wait for receives: there it
 * is the other way round.
 *
 *   in order:  e1 <-> e2 <-> e3, searched from the front
 *   in bins:   by a hash of (context, source, tag). A message that waits is in four bins, one for
 *              each combination of wildcards, since a receive may use any of them. A receive that
 *              waits is in one bin; a message looks into four, and of the receives found there
 *              the one with the lowest number matches.
 *
 * A queue has no bins until a search passes WEFT_MATCH_FRONT entries, and then until it is empty:
 * most programs receive in the order in which they send, however much they have under way. So a
 * search costs the same with ten entries and with ten thousand.
 */
#ifndef WEFT_PT2PT_MATCH_H
#define WEFT_PT2PT_MATCH_H

#include "base/list.h"
#include "base/own_symbol.h"

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
    uint64_t number; /* place in the order of arrival */
    weft_match_key_t key;
    weft_link_t bins[WEFT_MATCH_BINS]; /* in use while the queue is binned */
} weft_match_entry_t;

typedef struct weft_match_queue {
    weft_list_t order;
    size_t count;
    uint64_t next_number;
    bool holds_messages; /* no wildcards in entries, perhaps some in what is looked for */
    bool is_binned;      /* entries stand in bins as well as in order */
    weft_list_t *bins;   /* [copies][bin_count], kept (empty) while the queue is not binned */
    size_t bin_count;    /* a power of two */
} weft_match_queue_t;

static inline bool weft_match_are_equal(const weft_match_key_t *a, const weft_match_key_t *b)
{
    return a->context == b->context && a->source == b->source && a->tag == b->tag;
}

/** Entries that searches have looked at; counted while it is watched. */
typedef struct weft_match_attempts {
    int watched;
    uint64_t count;
} weft_match_attempts_t;

extern WEFT_OWN_SYMBOL weft_match_attempts_t weft_match_attempts;

void weft_match_init(weft_match_queue_t *queue, bool holds_messages);

/** Entries that a search passes at most without bins. */
enum { WEFT_MATCH_FRONT = 64 };

/** Put the last entry into the bins, which become more where it is time. */
void weft_match_enter_bins(weft_match_queue_t *queue, weft_match_entry_t *entry);
/** Take an entry out of the bins. */
void weft_match_leave_bins(weft_match_queue_t *queue, weft_match_entry_t *entry);

/** Append to a queue that is not binned; entry->key is set. */
static inline void weft_match_append(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    entry->number = queue->next_number++;
    weft_list_append(&queue->order, &entry->order);
    queue->count++;
}

/** Append; entry->key is set. */
static inline void weft_match_add(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    weft_match_append(queue, entry);
    if (__builtin_expect(queue->is_binned, 0))
        weft_match_enter_bins(queue, entry);
}

/** Take an entry out of a queue that is not binned. */
static inline void weft_match_unlink(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    weft_list_unlink(&entry->order);
    queue->count--;
}

static inline void weft_match_remove(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    weft_match_unlink(queue, entry);
    if (__builtin_expect(queue->is_binned, 0))
        weft_match_leave_bins(queue, entry);
}

/** The first of all entries, if it has this key; NULL says nothing of the others. Where receives
 * are posted in the order of their messages, no other search is made. */
static inline weft_match_entry_t *weft_match_first(const weft_match_queue_t *queue,
                                                   const weft_match_key_t *key)
{
    weft_match_entry_t *entry = WEFT_ELEMENT(queue->order.next, weft_match_entry_t, order);
    return queue->count > 0 && weft_match_are_equal(&entry->key, key) ? entry : NULL;
}

/** The first entry that matches `key`; NULL: none. It stays in the queue, which may be binned
 * afterwards. */
weft_match_entry_t *weft_match_find(weft_match_queue_t *queue, weft_match_key_t key);

/** Free the bins; the entries belong to their owners. */
void weft_match_close(weft_match_queue_t *queue);

#endif
