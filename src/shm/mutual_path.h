/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of large messages between two ranks that send them to each other at the same time, as in
 * the exchange of halos. Each receiver by itself (path_choice.h) finds that reading is the better
 * way as long as the other one reads, since a sender that reads fills a stream slowly. So one of
 * the two, the leader, chooses for both directions, by the time in which messages of both have
 * come, and tells the other rank in shared memory.
 *
 *   leader     sees that both send: at once where it has announced a message itself when one comes,
 *              or where it has sent much while a stream came
 *              -> chooses for the next run -> shows that -> measures the run
 *   follower   takes the way that is shown, if any
 *
 * A run lasts from the first choice until nothing that is large is on its way; but a try of the
 * slower way ends after eight messages, since the program may have sent a hundred at once. Those of
 * its first two MiB do not count, if there are more: they meet a ring that has left the caches. The
 * next way is shown when a run ends: so both ranks take it for all messages of the next. Streams
 * come first, since two ranks that read one after the other do not look like ranks that exchange.
 *
 * One of these belongs to a leader and a follower; no thread safety.
 */
#ifndef WEFT_SHM_MUTUAL_PATH_H
#define WEFT_SHM_MUTUAL_PATH_H

#include "shm/path_choice.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { WEFT_MUTUAL_TRY = 8 }; /* messages of a try that count */

/** What the leader shows for messages of a size: nothing, or 1 + a weft_path_t. */
typedef atomic_uchar weft_shown_path_t;

/** What a leader has learnt of all its followers; to be opened first. */
typedef struct weft_mutual_choice {
    weft_path_kind_t kinds[WEFT_PATH_SIZES];
} weft_mutual_choice_t;

/** The leader's side of a pair; all zeros at first. */
typedef struct weft_mutual_path {
    int runs_left;       /* for which both are believed to send to each other */
    bool has_overlap;    /* the run that is on has shown it again */
    bool is_try;         /* of the slower way */
    uint32_t unmeasured; /* messages of the run, and */
    size_t unmeasured_bytes;
    weft_path_kind_t *kind; /* of the run that is on; NULL: none is */
    weft_path_run_t run;
} weft_mutual_path_t;

void weft_mutual_open(weft_mutual_choice_t *choice);

/** Say in the log what was learnt. */
void weft_mutual_log(const weft_mutual_choice_t *choice);

/** What is shown for messages of `bytes` bytes: true where that is a way. */
static inline bool weft_mutual_is_shown(const weft_shown_path_t shown[WEFT_PATH_SIZES],
                                        size_t bytes, weft_path_t *out)
{
    unsigned char word =
        atomic_load_explicit(&shown[weft_path_size_class(bytes)], memory_order_relaxed);
    *out = word == 1 + WEFT_PATH_STREAM ? WEFT_PATH_STREAM : WEFT_PATH_READ;
    return word != 0;
}

/** The leader has seen that both send to each other. */
void weft_mutual_note_overlap(weft_mutual_choice_t *choice, weft_mutual_path_t *pair,
                              weft_shown_path_t shown[WEFT_PATH_SIZES]);

/** The leader takes the way that it shows for a message of `bytes` bytes: a run begins, unless one
 *  is on. */
void weft_mutual_begin(weft_mutual_choice_t *choice, weft_mutual_path_t *pair, weft_path_t path,
                       size_t bytes, int64_t now_ns);

/** What the messages of the run have taken so far does not count. */
static inline void weft_mutual_restart(weft_mutual_path_t *pair, int64_t now_ns)
{
    pair->unmeasured = pair->run.messages;
    pair->unmeasured_bytes += pair->run.bytes;
    pair->run.bytes = 0;
    pair->run.ns = -now_ns;
}

/** A message of the run has come. True: that is enough, and the run is to be ended. */
static inline bool weft_mutual_count(weft_mutual_path_t *pair, size_t bytes, int64_t now_ns)
{
    pair->run.messages++;
    pair->run.bytes += bytes;
    if (!pair->is_try)
        return false;
    bool is_settled = pair->unmeasured_bytes >= WEFT_PATH_TRY_BYTES;
    if (!is_settled && pair->run.bytes >= WEFT_PATH_TRY_BYTES)
        weft_mutual_restart(pair, now_ns);
    return is_settled && pair->run.messages - pair->unmeasured == WEFT_MUTUAL_TRY;
}

static inline bool weft_mutual_is_on(const weft_mutual_path_t *pair)
{
    return pair->kind != NULL;
}

/** Nothing large is on its way between the two, or a try has been long enough. */
void weft_mutual_end(weft_mutual_path_t *pair, weft_shown_path_t shown[WEFT_PATH_SIZES],
                     weft_mutual_choice_t *choice, int64_t now_ns);

#endif
