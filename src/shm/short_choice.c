/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/short_choice.h"

#include <stddef.h>

enum {
    MESSAGES_A_SAMPLE = 4,
    MESSAGES_A_LONG_SAMPLE = 64, /* of an exchange: twice what a ring of 2 MiB holds */
    MESSAGES_TO_SETTLE = 4,
    MESSAGES_TO_SPARE = 12,   /* of a long try */
    MESSAGES_BEFORE_TRY = 96, /* may still come that were sent before it was seen */
    MESSAGES_TO_READ = 1024,  /* of an exchange through a large ring, before the first such try */
    SAMPLES_TO_LEAD = 8,
    /* A receiver that waits for the message begins to read it within a microsecond. One that is in
     * such a send itself, as where both send first, takes 25. */
    LATE_NS = 10000,
    SENDS_FIRST = 16, /* after a receiver that was late twice */
    SENDS_MOST = 1 << 12,
};

void weft_short_open(weft_short_choice_t *choice)
{
    for (int i = 0; i < WEFT_SHORT_KINDS; i++)
        choice->kinds[i] =
            (weft_path_kind_t){.first = WEFT_PATH_STREAM, .trusts_first = true, .tries_once = true};
}

void weft_short_expect_reading(weft_short_choice_t *choice)
{
    weft_path_expect_reading(choice->kinds, WEFT_SHORT_KINDS);
}

void weft_short_expect_ring(weft_short_choice_t *choice)
{
    for (int i = WEFT_SHORT_SIZES; i < WEFT_SHORT_KINDS; i++) {
        weft_path_kind_t *kind = &choice->kinds[i];
        if (!kind->expects_reading)
            kind->next_try = kind->messages + MESSAGES_TO_READ;
    }
}

static int messages_a_sample(bool is_exchange)
{
    return is_exchange ? MESSAGES_A_LONG_SAMPLE : MESSAGES_A_SAMPLE;
}

static int messages_a_try(bool is_exchange)
{
    return MESSAGES_TO_SETTLE + messages_a_sample(is_exchange) +
           (is_exchange ? MESSAGES_TO_SPARE : 0);
}

bool weft_short_next_of_try(weft_short_try_t *its, unsigned char shown)
{
    bool is_read = (shown & WEFT_SHOWN_READ) != 0;
    if (its->shown != shown)
        *its = (weft_short_try_t){.shown = shown,
                                  .left = messages_a_try((shown & WEFT_SHOWN_LONG) != 0)};
    if (its->left == 0)
        return !is_read;
    its->left--;
    return is_read;
}

/* `try`: its number, or 0. */
static void show(weft_short_shown_t *shown, weft_path_t path, int try, bool is_exchange)
{
    unsigned word = path == WEFT_PATH_READ ? WEFT_SHOWN_READ : 0;
    if (try > 0)
        word |= WEFT_SHOWN_TRY | (unsigned)try * WEFT_SHOWN_NUMBER;
    if (is_exchange)
        word |= WEFT_SHOWN_LONG;
    atomic_store_explicit(shown, (unsigned char)word, memory_order_relaxed);
}

/* Does a try wait for messages of the other way than `path`? */
static bool awaits_other(const weft_short_shown_t *shown, weft_path_t path)
{
    unsigned word = atomic_load_explicit(shown, memory_order_relaxed);
    return (word & WEFT_SHOWN_TRY) != 0 && (word & WEFT_SHOWN_READ) != (path == WEFT_PATH_READ);
}

/* Do the messages of this one's size cross those that go the other way? */
static void look_for_exchange(weft_short_run_t *its, const weft_short_message_t *message,
                              int64_t since_ns)
{
    if (!its->has_sent || message->sent_ns >= since_ns)
        return;
    its->has_crossed = true;
    if (its->is_exchange)
        return;
    its->is_exchange = true; /* what was counted is of no kind */
    its->run = (weft_path_run_t){.path = its->run.path};
    its->counted = 0;
}

static void begin_run(weft_short_run_t *its, weft_path_t path)
{
    its->run = (weft_path_run_t){.path = path};
    its->settling = MESSAGES_TO_SETTLE;
    its->counted = 0;
}

/* Adds a message to the run; true when the run is long enough for a sample. */
static bool add_message(weft_short_run_t *its, const weft_short_message_t *message,
                        int64_t since_ns)
{
    int64_t began_ns = message->sent_ns > since_ns ? message->sent_ns : since_ns;
    if (message->path != its->run.path)
        begin_run(its, message->path);
    look_for_exchange(its, message, since_ns);
    its->run.messages++;
    if (its->settling > 0) {
        its->settling--;
        return false;
    }
    if (message->here_ns < began_ns) /* the clocks of the two do not agree */
        return false;
    its->counted++;
    its->run.bytes += message->bytes;
    its->run.ns += message->here_ns - began_ns;
    return its->counted == messages_a_sample(its->is_exchange);
}

/* What is shown changes with what was learnt, and not before a try is over. */
static void show_next(weft_path_kind_t *kind, weft_short_run_t *its, weft_short_shown_t *shown,
                      weft_path_t path)
{
    its->waited += messages_a_sample(its->is_exchange);
    if (awaits_other(shown, path) && its->waited < MESSAGES_BEFORE_TRY)
        return;
    weft_path_t next = weft_path_choose(kind);
    its->waited = 0;
    show(shown, next, next != weft_path_faster(kind) ? ++its->tries : 0, its->is_exchange);
}

static void begin_sample(weft_short_run_t *its)
{
    its->run = (weft_path_run_t){.path = its->run.path};
    its->counted = 0;
    its->leads_for = SAMPLES_TO_LEAD * messages_a_sample(its->is_exchange);
    its->is_exchange = its->has_crossed;
    its->has_sent = its->has_crossed = false;
}

void weft_short_note(weft_short_choice_t *choice, weft_short_pair_t *pair,
                     weft_short_shown_t shown[WEFT_SHORT_SIZES],
                     const weft_short_message_t *message)
{
    int size = weft_short_size_class(message->bytes);
    weft_short_run_t *its = &pair->sizes[size];
    bool is_sample = add_message(its, message, pair->last_ns);
    pair->last_ns = message->here_ns;
    if (!is_sample)
        return;
    weft_path_kind_t *kind = &choice->kinds[its->is_exchange * WEFT_SHORT_SIZES + size];
    weft_path_note(kind, &its->run);
    show_next(kind, its, &shown[size], message->path);
    begin_sample(its);
}

void weft_short_restart(weft_short_pair_t *pair)
{
    for (int size = 0; size < WEFT_SHORT_SIZES; size++)
        begin_run(&pair->sizes[size], pair->sizes[size].run.path);
}

void weft_short_note_wait(weft_short_wait_t *wait, int64_t ns)
{
    if (ns <= LATE_NS) {
        wait->next /= 2;
        return;
    }
    wait->left = wait->next;
    wait->next = wait->next < SENDS_FIRST  ? SENDS_FIRST
                 : wait->next < SENDS_MOST ? 2 * wait->next
                                           : SENDS_MOST;
}

static void show_for_all(weft_short_shown_t shown[WEFT_SHORT_SIZES], weft_path_t path)
{
    for (int size = 0; size < WEFT_SHORT_SIZES; size++)
        show(&shown[size], path, 0, false);
}

void weft_short_show_reading(weft_short_shown_t shown[WEFT_SHORT_SIZES])
{
    show_for_all(shown, WEFT_PATH_READ);
}

void weft_short_give_up(weft_short_shown_t shown[WEFT_SHORT_SIZES])
{
    show_for_all(shown, WEFT_PATH_STREAM);
}

void weft_short_log(const weft_short_choice_t *choice)
{
    static const char *const sizes[] = {"up to 32 KiB", "more than 32 KiB"};
    for (int i = 0; i < WEFT_SHORT_KINDS; i++)
        weft_path_log_kind(&choice->kinds[i], sizes[i % WEFT_SHORT_SIZES],
                           i < WEFT_SHORT_SIZES ? "short" : "short, both ways");
}
