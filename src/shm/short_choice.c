/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/short_choice.h"

#include <stddef.h>

enum {
    MESSAGES_A_SAMPLE = 4,
    MESSAGES_TO_SETTLE = 4,
    LEADS_FOR = 8 * MESSAGES_A_SAMPLE,
    LATE_NS = 50000,
    SENDS_FIRST = 16, /* after a late receiver */
    SENDS_MOST = 1 << 12,
};

void weft_short_open(weft_short_choice_t *choice)
{
    for (int size = 0; size < WEFT_SHORT_SIZES; size++)
        choice->kinds[size] = (weft_path_kind_t){.first = WEFT_PATH_STREAM, .trusts_first = true};
}

static void show(weft_short_shown_t *shown, weft_path_t path)
{
    atomic_store_explicit(shown, path == WEFT_PATH_READ, memory_order_relaxed);
}

static weft_path_t shown_path(const weft_short_shown_t *shown)
{
    bool is_asked = atomic_load_explicit(shown, memory_order_relaxed) != 0;
    return is_asked ? WEFT_PATH_READ : WEFT_PATH_STREAM;
}

/* Has the message gone the way of enough others before it? */
static bool is_settled(weft_path_run_t *run, int *same, const weft_short_message_t *message)
{
    if (message->path != run->path) {
        *run = (weft_path_run_t){.path = message->path};
        *same = 0;
    }
    if (*same == MESSAGES_TO_SETTLE)
        return true;
    ++*same;
    return false;
}

/* Adds a message to the run; true when the run is long enough for a sample. */
static bool add_message(weft_path_run_t *run, const weft_short_message_t *message, int64_t since_ns)
{
    int64_t began_ns = message->sent_ns > since_ns ? message->sent_ns : since_ns;
    if (message->here_ns < began_ns) /* the clocks of the two do not agree */
        return false;
    run->messages++;
    run->bytes += message->bytes;
    run->ns += message->here_ns - began_ns;
    return run->messages >= MESSAGES_A_SAMPLE;
}

void weft_short_note(weft_short_choice_t *choice, weft_short_pair_t *pair,
                     weft_short_shown_t shown[WEFT_SHORT_SIZES],
                     const weft_short_message_t *message)
{
    int size = weft_short_size_class(message->bytes);
    weft_path_run_t *run = &pair->sizes[size].run;
    bool is_sample = is_settled(run, &pair->sizes[size].same, message) &&
                     add_message(run, message, pair->last_ns);
    pair->last_ns = message->here_ns;
    if (!is_sample)
        return;
    weft_path_note(&choice->kinds[size], run);
    *run = (weft_path_run_t){.path = message->path};
    pair->sizes[size].leads_for = LEADS_FOR;
    if (message->path == shown_path(&shown[size])) /* else it was sent before that was shown */
        show(&shown[size], weft_path_choose(&choice->kinds[size]));
}

void weft_short_note_wait(weft_short_wait_t *wait, int64_t ns)
{
    if (ns <= LATE_NS) {
        wait->next /= 2;
        return;
    }
    wait->left = wait->next < SENDS_FIRST ? SENDS_FIRST : wait->next;
    wait->next = wait->left < SENDS_MOST ? 2 * wait->left : SENDS_MOST;
}

void weft_short_give_up(weft_short_shown_t shown[WEFT_SHORT_SIZES])
{
    for (int size = 0; size < WEFT_SHORT_SIZES; size++)
        show(&shown[size], WEFT_PATH_STREAM);
}

void weft_short_log(const weft_short_choice_t *choice)
{
    static const char *const sizes[] = {"up to 32 KiB", "more than 32 KiB"};
    for (int size = 0; size < WEFT_SHORT_SIZES; size++)
        weft_path_log_kind(&choice->kinds[size], sizes[size], "short");
}
