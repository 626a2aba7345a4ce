/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages, those of several packets that may go unasked: do they go through the ring, or are
 * they announced, so that the receiver reads them out of the sender's memory? The ring needs no
 * answer and no system call, but each byte crosses twice from core to core: the sender fetches the
 * lines that the receiver has read, and the receiver those that the sender has filled. Which one is
 * faster depends on the processor and on how far apart the cores are, so the receiver learns it in
 * the run, as in path_choice.h, and shows the sender what it prefers.
 *
 *   sender     short message -> what does the receiver show? -> unasked | announced
 *   receiver   it has come -> how long has it taken since it was sent? -> learn -> show
 *
 * The time counts from when the sender began, but not from before the message ahead of it had come:
 * what the sender does for a message, fill the ring, is a part of its cost. Four messages that went
 * one way are one sample, but not the first four that go another way than those before: while the
 * two ranks change over, both ways are slow. A sender may have sent many messages by the time that
 * it sees what was learnt from the first, so it sends eight for each try, and goes on as before.
 *
 * Where messages go both ways, each way is slower while the other rank takes the other one. So one
 * of the two, the leader, chooses for both while it gets such messages. Where they cross, as in an
 * exchange of halos, a few messages say nothing: those that wait in the ring are copied out fast,
 * after this rank has filled the ring of the other one. There a sample is 64 messages, with all
 * that this rank did meanwhile, and exchanges are learnt apart.
 *
 * A blocking send that was announced returns when the receiver has read it. If the receiver was
 * late, and late again soon after, blocking sends are not announced for a while: twice as many as
 * the last time. One that was late once may have been disturbed.
 *
 * One weft_short_pair_t belongs to a receiver and a sender; no thread safety.
 */
#ifndef WEFT_SHM_SHORT_CHOICE_H
#define WEFT_SHM_SHORT_CHOICE_H

#include "shm/path_choice.h"

#include <stdatomic.h>
#include <stdbool.h>

/** Sizes up to 32 KiB, and larger ones. */
enum { WEFT_SHORT_SIZES = 2 };

/** What a receiver shows for messages of a size: a way, and whether that is the number of a try. */
typedef atomic_uchar weft_short_shown_t;

enum {
    WEFT_SHOWN_READ = 1,   /* to be announced, and read */
    WEFT_SHOWN_TRY = 2,    /* a few messages; */
    WEFT_SHOWN_LONG = 4,   /* as many as a sample of an exchange takes; */
    WEFT_SHOWN_NUMBER = 8, /* times the number of that try, modulo 32 */
};

enum { WEFT_SHORT_KINDS = 2 * WEFT_SHORT_SIZES };

/** What a receiver has learnt; WEFT_PATH_STREAM is the ring. To be opened first. */
typedef struct weft_short_choice {
    weft_path_kind_t kinds[WEFT_SHORT_KINDS]; /* of each size; then the same, of exchanges */
} weft_short_choice_t;

/** The messages of a size that come from a sender. */
typedef struct weft_short_run {
    weft_path_run_t run; /* of the way of the last message; not noted yet */
    int settling;        /* messages of it that are not to be measured yet; */
    int counted;         /* so many have been */
    int tries;           /* of the slower way */
    int waited;          /* messages of the other way, in samples, since the try was shown */
    int leads_for;       /* messages that a leader may send until it has learnt again */
    bool has_sent;       /* it has sent some since the last sample */
    bool has_crossed;    /* one came then that had been sent before the one ahead of it had come */
    bool is_exchange;    /* so both, in this sample or the last */
} weft_short_run_t;

/** The receiver's side of a pair; all zeros at first. */
typedef struct weft_short_pair {
    int64_t last_ns; /* when the last message had come */
    weft_short_run_t sizes[WEFT_SHORT_SIZES];
} weft_short_pair_t;

/** How far the sender is with a try; all zeros at first. */
typedef struct weft_short_try {
    unsigned char shown;
    int left; /* messages */
} weft_short_try_t;

/** The sender's side of a pair; all zeros at first. */
typedef struct weft_short_wait {
    unsigned left; /* blocking sends that are not announced; */
    unsigned next; /* so many after the next late receiver */
} weft_short_wait_t;

/** A message that has come. */
typedef struct weft_short_message {
    weft_path_t path;
    size_t bytes;
    int64_t sent_ns, here_ns;
} weft_short_message_t;

void weft_short_open(weft_short_choice_t *choice);

/** Reading is the faster way, as far as is known (weft_path_expect_reading); and this is shown to a
 * sender from the beginning. */
void weft_short_expect_reading(weft_short_choice_t *choice);
void weft_short_show_reading(weft_short_shown_t shown[WEFT_SHORT_SIZES]);

static inline int weft_short_size_class(size_t bytes)
{
    return bytes > 32 * 1024;
}

/** The way of a message that is one of a try, if any are left. */
bool weft_short_next_of_try(weft_short_try_t *its, unsigned char shown);

/** Is the next message, of `bytes` bytes, to be announced, by what the receiver shows? */
static inline bool weft_short_is_asked(const weft_short_shown_t shown[WEFT_SHORT_SIZES],
                                       weft_short_try_t tries[WEFT_SHORT_SIZES], size_t bytes)
{
    int size = weft_short_size_class(bytes);
    unsigned char word = atomic_load_explicit(&shown[size], memory_order_relaxed);
    return __builtin_expect((word & WEFT_SHOWN_TRY) != 0, 0)
               ? weft_short_next_of_try(&tries[size], word)
               : (word & WEFT_SHOWN_READ) != 0;
}

/** Does the receiver read messages of the smallest size, apart from tries? */
static inline bool weft_short_is_read(const weft_short_shown_t shown[WEFT_SHORT_SIZES])
{
    unsigned char word = atomic_load_explicit(&shown[0], memory_order_relaxed);
    return ((word & WEFT_SHOWN_READ) != 0) != ((word & WEFT_SHOWN_TRY) != 0);
}

/** Does the leader choose for a message that it sends itself? */
static inline bool weft_short_leads(weft_short_pair_t *pair, size_t bytes)
{
    weft_short_run_t *its = &pair->sizes[weft_short_size_class(bytes)];
    its->has_sent = true;
    return its->leads_for > 0 && its->leads_for-- > 0;
}

void weft_short_note(weft_short_choice_t *choice, weft_short_pair_t *pair,
                     weft_short_shown_t shown[WEFT_SHORT_SIZES],
                     const weft_short_message_t *message);

/** The ring has become a large one, as only between near cores: exchanges, whose tries are long,
 * try to read later. Not where reading is expected to be faster. */
void weft_short_expect_ring(weft_short_choice_t *choice);

/** The messages that came last say nothing of the next ones: those that are counted begin anew. */
void weft_short_restart(weft_short_pair_t *pair);

/** May a blocking send be announced? */
static inline bool weft_short_may_wait(weft_short_wait_t *wait)
{
    if (wait->left == 0)
        return true;
    wait->left--;
    return false;
}

/** A blocking send that was announced has waited for `ns` until the receiver began to read. */
void weft_short_note_wait(weft_short_wait_t *wait, int64_t ns);

/** This rank cannot read the sender's memory. */
void weft_short_give_up(weft_short_shown_t shown[WEFT_SHORT_SIZES]);

/** Say in the log what was learnt. */
void weft_short_log(const weft_short_choice_t *choice);

#endif
