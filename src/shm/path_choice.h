/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way large messages of a host take: read by the receiver (shared_copy.h), or as a stream of
 * packets through a ring. Which one is faster depends on the processor, on where the two buffers
 * lie, on the size, on which cores the ranks run and on what else the machine does, so it is learnt
 * in the run: the first few messages of a kind try both ways, then the faster one is taken, and now
 * and then, for one or two of a hundred parts of the time, the other is tried again, so that a
 * disturbed trial cannot last. A try goes on for some messages, since the first ones meet memory
 * that has left the caches: on a Zen 4 three streams of 1 MiB in a row take 103, 72 and 52 ns per
 * KiB.
 *
 * Results never depend on it. One of these belongs to a receiver; no thread safety.
 */
#ifndef WEFT_SHM_PATH_CHOICE_H
#define WEFT_SHM_PATH_CHOICE_H

#include "shm/shared_copy.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum weft_path { WEFT_PATH_READ, WEFT_PATH_STREAM, WEFT_PATHS } weft_path_t;

/** Sizes below 64 KiB, 256 KiB and 1 MiB, and larger ones. */
enum { WEFT_PATH_SIZES = 4 };

/** So many bytes, and a message more, are a lap through a large ring, and a try of streams. */
enum { WEFT_PATH_TRY_BYTES = 2 << 20 };

enum { WEFT_PATH_SAMPLES = 4 };

/** What is known of one kind of message; all zeros at first, where reading is the first choice: it
 *  needs nothing of the sender. */
typedef struct weft_path_kind {
    /* ns per KiB of the last runs; the least counts, since a disturbance only makes them longer */
    float samples[WEFT_PATHS][WEFT_PATH_SAMPLES];
    uint32_t noted[WEFT_PATHS]; /* runs since weft_path_forget */
    uint32_t messages;          /* so far */
    uint32_t next_try;          /* of the slower way, when there have been so many messages */
    uint32_t tried;             /* messages of the try that is on; */
    size_t tried_bytes;         /* theirs, those that were not measured among them */
    weft_path_t first;          /* the way while nothing is known */
    bool trusts_first;          /* one run of a way is enough for a try of the other */
    bool tries_once;            /* a try is one run */
    bool expects_reading;       /* the other way is tried late, and seldom */
} weft_path_kind_t;

typedef struct weft_path_choice {
    weft_path_kind_t kinds[WEFT_COPY_PLACES][WEFT_PATH_SIZES];
} weft_path_choice_t;

weft_path_kind_t *weft_path_kind(weft_path_choice_t *choice, weft_copy_place_t place, size_t bytes);

/** Reading is the faster way, as far as is known: streams are tried once in 16,384 messages only,
 * since one try may draw a window of messages after it. On a Cascade Lake messages of 128 KiB and
 * more, both ways too, go 1.3 to 2.4 times as fast by reading as through the largest ring, whose
 * pages take 1.3 ms to be touched. */
void weft_path_expect_reading(weft_path_kind_t kinds[], size_t count);

/** The number of the class of sizes that `bytes` belongs to. */
int weft_path_size_class(size_t bytes);

/** The way that is faster by what is known. */
weft_path_t weft_path_faster(const weft_path_kind_t *kind);

/** The way for the next message of this kind: the faster one, or a try. */
weft_path_t weft_path_choose(weft_path_kind_t *kind);

/** A run of messages one after the other that went one way. */
typedef struct weft_path_run {
    weft_path_t path;
    uint32_t messages;
    size_t bytes;
    int64_t ns;
} weft_path_run_t;

/** One message was chosen for; those of the run that followed without a choice are counted now. */
void weft_path_note(weft_path_kind_t *kind, const weft_path_run_t *run);

/** Something has changed for `path`: it is tried again as at first. */
void weft_path_forget(weft_path_kind_t kinds[], size_t count, weft_path_t path);

/** Say in the log what was learnt of a kind: messages of `size`, `what`. */
void weft_path_log_kind(const weft_path_kind_t *kind, const char *size, const char *what);

/** The text for a class of sizes. */
const char *weft_path_size_text(int size_class);

/** Say in the log what was learnt. */
void weft_path_log(const weft_path_choice_t *choice);

#endif
