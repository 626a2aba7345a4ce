/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/match.h"

#include "base/memory.h"
#include "mpi.h"

weft_match_attempts_t weft_match_attempts;

enum { FIRST_BINS = 64, ENTRIES_A_BIN = 2, GROWTH = 4 };

void weft_match_init(weft_match_queue_t *queue, bool holds_messages)
{
    *queue = (weft_match_queue_t){.holds_messages = holds_messages};
    weft_list_init(&queue->order);
}

static inline bool match_fits(const weft_match_key_t *a, const weft_match_key_t *b)
{
    return a->context == b->context &&
           (a->tag == b->tag || a->tag == MPI_ANY_TAG || b->tag == MPI_ANY_TAG) &&
           (a->source == b->source || a->source == MPI_ANY_SOURCE || b->source == MPI_ANY_SOURCE);
}

static inline void note_attempts(uint64_t looked_at)
{
    if (__builtin_expect(weft_match_attempts.watched != 0, 0))
        weft_match_attempts.count += looked_at;
}

/* `key` with the wildcards of combination `wild`: bit 0 any source, bit 1 any tag. */
static weft_match_key_t generalise(weft_match_key_t key, int wild)
{
    if (wild & 1)
        key.source = MPI_ANY_SOURCE;
    if (wild & 2)
        key.tag = MPI_ANY_TAG;
    return key;
}

static int copies_of(const weft_match_queue_t *queue)
{
    return queue->holds_messages ? WEFT_MATCH_BINS : 1;
}

static weft_list_t *match_bin(const weft_match_queue_t *queue, weft_match_key_t key, int copy)
{
    uint64_t hash = (uint64_t)key.context * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (uint32_t)key.source) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 29 ^ (uint32_t)key.tag) * 0x94d049bb133111ebu;
    size_t index = (hash ^ hash >> 32) & (queue->bin_count - 1);
    return &queue->bins[(size_t)copy * queue->bin_count + index];
}

static void put_in_bins(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    for (int i = 0; i < copies_of(queue); i++)
        weft_list_append(match_bin(queue, generalise(entry->key, i), i), &entry->bins[i]);
}

static void take_from_bins(const weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    for (int i = 0; i < copies_of(queue); i++)
        weft_list_remove(&entry->bins[i]);
}

static void fill_bins(weft_match_queue_t *queue)
{
    for (weft_link_t *at = queue->order.next; at != &queue->order; at = at->next)
        put_in_bins(queue, WEFT_ELEMENT(at, weft_match_entry_t, order));
}

/* Make new bins. Without memory the queue stays as it is: it is slower, but still correct. */
static bool make_bins(weft_match_queue_t *queue, size_t bin_count)
{
    size_t lists = (size_t)copies_of(queue) * bin_count;
    weft_list_t *bins = weft_alloc_array(lists, sizeof(*bins));
    if (bins == NULL)
        return false;
    for (size_t i = 0; i < lists; i++)
        weft_list_init(&bins[i]);
    weft_free(queue->bins);
    queue->bins = bins;
    queue->bin_count = bin_count;
    return true;
}

/* Are there so many entries that it takes more bins, and has the queue got them, still empty? */
static bool has_grown(weft_match_queue_t *queue)
{
    size_t wanted = queue->bins == NULL ? FIRST_BINS : queue->bin_count;
    while (queue->count > wanted * ENTRIES_A_BIN)
        wanted *= GROWTH;
    return (queue->bins == NULL || wanted > queue->bin_count) && make_bins(queue, wanted);
}

/* All entries of a queue that has none stand in bins from now on. */
static void begin_bins(weft_match_queue_t *queue)
{
    queue->is_binned = has_grown(queue) || queue->bins != NULL;
    if (queue->is_binned)
        fill_bins(queue);
}

void weft_match_enter_bins(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    if (has_grown(queue))
        fill_bins(queue);
    else
        put_in_bins(queue, entry);
}

void weft_match_leave_bins(weft_match_queue_t *queue, weft_match_entry_t *entry)
{
    take_from_bins(queue, entry);
    if (queue->count == 0)
        queue->is_binned = false;
}

/* Passes `most` entries at most. */
static weft_match_entry_t *find_in_order(const weft_match_queue_t *queue,
                                         const weft_match_key_t *key, uint64_t most)
{
    weft_match_entry_t *found = NULL;
    uint64_t looked_at = 0;
    weft_link_t *at = queue->order.next;
    for (; at != &queue->order && found == NULL && looked_at < most; at = at->next) {
        weft_match_entry_t *entry = WEFT_ELEMENT(at, weft_match_entry_t, order);
        looked_at++;
        if (match_fits(&entry->key, key))
            found = entry;
    }
    note_attempts(looked_at);
    return found;
}

/* The first entry that stands in the bins of combination `copy` for exactly `key`. */
static weft_match_entry_t *find_in_bin(const weft_match_queue_t *queue, weft_match_key_t key,
                                       int copy)
{
    const weft_list_t *bin = match_bin(queue, key, copy);
    weft_match_entry_t *found = NULL;
    uint64_t looked_at = 0;
    for (weft_link_t *at = bin->next; at != bin && found == NULL; at = at->next) {
        weft_link_t *first_copy = at - copy;
        weft_match_entry_t *entry = WEFT_ELEMENT(first_copy, weft_match_entry_t, bins);
        weft_match_key_t own = generalise(entry->key, copy);
        looked_at++;
        if (weft_match_are_equal(&own, &key))
            found = entry;
    }
    note_attempts(looked_at);
    return found;
}

static weft_match_entry_t *find_message(const weft_match_queue_t *queue, weft_match_key_t key)
{
    int wild = (key.source == MPI_ANY_SOURCE ? 1 : 0) | (key.tag == MPI_ANY_TAG ? 2 : 0);
    return find_in_bin(queue, key, wild);
}

static weft_match_entry_t *find_receive(const weft_match_queue_t *queue, weft_match_key_t key)
{
    weft_match_entry_t *best = NULL;
    for (int wild = 0; wild < WEFT_MATCH_BINS; wild++) {
        weft_match_entry_t *entry = find_in_bin(queue, generalise(key, wild), 0);
        if (entry != NULL && (best == NULL || entry->number < best->number))
            best = entry;
    }
    return best;
}

weft_match_entry_t *weft_match_find(weft_match_queue_t *queue, weft_match_key_t key)
{
    if (!queue->is_binned) {
        weft_match_entry_t *entry = find_in_order(queue, &key, WEFT_MATCH_FRONT);
        if (entry != NULL || queue->count <= WEFT_MATCH_FRONT)
            return entry;
        begin_bins(queue);
    }
    if (!queue->is_binned)
        return find_in_order(queue, &key, queue->count);
    return queue->holds_messages ? find_message(queue, key) : find_receive(queue, key);
}

void weft_match_close(weft_match_queue_t *queue)
{
    weft_free(queue->bins);
    queue->bins = NULL;
    queue->is_binned = false;
}
