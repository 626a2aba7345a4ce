/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/path_choice.h"

#include "base/log.h"

enum {
    TRY_AT_FIRST = 16,  /* messages between the first tries, at least; */
    SHARE_AT_FIRST = 4, /* and one message in so many goes the slower way at most; */
    SHARE_OF_TIME = 64, /* then what tries cost takes one part in so many of the time, */
    TRY_SHARE = 32,     /* and one message in so many goes the slower way at most, */
    TRY_SELDOM = 1024,  /* and at least; */
    TRY_RARELY = 16384, /* messages between tries where reading is expected to be best */
    READS_A_TRY = 3,    /* the first ones are slower */
    KIB = 1024,
};

int weft_path_size_class(size_t bytes)
{
    return bytes < 64 * KIB ? 0 : bytes < 256 * KIB ? 1 : bytes < KIB * KIB ? 2 : 3;
}

weft_path_kind_t *weft_path_kind(weft_path_choice_t *choice, weft_copy_place_t place, size_t bytes)
{
    return &choice->kinds[place][weft_path_size_class(bytes)];
}

static uint32_t messages_before_try(const weft_path_kind_t *kind)
{
    return kind->messages + (kind->expects_reading ? TRY_RARELY : 0);
}

void weft_path_expect_reading(weft_path_kind_t kinds[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kinds[i].expects_reading = true;
        kinds[i].first = WEFT_PATH_READ;
        kinds[i].next_try = messages_before_try(&kinds[i]);
    }
}

static weft_path_t other(weft_path_t path)
{
    return path == WEFT_PATH_READ ? WEFT_PATH_STREAM : WEFT_PATH_READ;
}

/* ns per KiB; 0: not known. */
static float time_of(const weft_path_kind_t *kind, weft_path_t path)
{
    float least = 0;
    for (uint32_t i = 0; i < WEFT_PATH_SAMPLES && i < kind->noted[path]; i++) {
        float sample = kind->samples[path][i];
        least = least == 0 || sample < least ? sample : least;
    }
    return least;
}

weft_path_t weft_path_faster(const weft_path_kind_t *kind)
{
    weft_path_t second = other(kind->first);
    float first_time = time_of(kind, kind->first), second_time = time_of(kind, second);
    return second_time != 0 && (first_time == 0 || second_time < first_time) ? second : kind->first;
}

/* Where the first run of a way is trusted, the slower way still gets a second one soon, since the
 * first may have met cold memory. */
static bool is_believed(const weft_path_kind_t *kind, weft_path_t path, bool is_slower)
{
    uint32_t enough = kind->trusts_first ? 1 + is_slower : WEFT_PATH_SAMPLES;
    return kind->noted[path] >= enough;
}

/* Another try begins when this one has been noted; until then the other messages do not wait for
 * it. */
weft_path_t weft_path_choose(weft_path_kind_t *kind)
{
    weft_path_t best = weft_path_faster(kind);
    kind->messages++;
    if (!is_believed(kind, best, false) || (int32_t)(kind->messages - kind->next_try) < 0)
        return best;
    kind->next_try = kind->messages + TRY_AT_FIRST;
    return other(best);
}

/* How many messages take the faster way for one that takes the other. */
static uint32_t messages_a_try(const weft_path_kind_t *kind)
{
    weft_path_t best = weft_path_faster(kind);
    float best_time = time_of(kind, best), cost = time_of(kind, other(best)) - best_time;
    float messages = best_time > 0 ? SHARE_OF_TIME * cost / best_time : 0;
    return messages < TRY_SHARE    ? TRY_SHARE
           : messages > TRY_SELDOM ? TRY_SELDOM
                                   : (uint32_t)messages;
}

/* What the slower way costs is bounded, also where one try draws many messages after it. The first
 * tries follow one another soon, where one alone may have been disturbed. */
static uint32_t pause_after_try(const weft_path_kind_t *kind, weft_path_t path)
{
    bool is_rare = kind->expects_reading && weft_path_faster(kind) == WEFT_PATH_READ;
    uint32_t least = is_rare ? TRY_RARELY : TRY_AT_FIRST;
    uint32_t share = is_believed(kind, path, true) ? messages_a_try(kind) : SHARE_AT_FIRST;
    uint32_t pause = kind->tried * share;
    return pause > least ? pause : least;
}

/* A ring has to be seen once as streams leave it. */
static bool is_tried(const weft_path_kind_t *kind, weft_path_t path)
{
    return kind->tries_once || (path == WEFT_PATH_STREAM ? kind->tried_bytes > WEFT_PATH_TRY_BYTES
                                                         : kind->tried >= READS_A_TRY);
}

/* The next message goes on with the try, unless this was enough of it, or has shown that the way is
 * the faster one. */
static void note_try(weft_path_kind_t *kind, const weft_path_run_t *run)
{
    kind->tried += run->messages;
    kind->tried_bytes += run->bytes;
    kind->next_try = kind->messages;
    if (!is_tried(kind, run->path) && weft_path_faster(kind) != run->path)
        return;
    kind->next_try += pause_after_try(kind, run->path);
    kind->tried = 0;
    kind->tried_bytes = 0;
}

void weft_path_note(weft_path_kind_t *kind, const weft_path_run_t *run)
{
    weft_path_t path = run->path;
    bool is_try = path != weft_path_faster(kind);
    kind->messages += run->messages - 1;
    kind->samples[path][kind->noted[path]++ % WEFT_PATH_SAMPLES] =
        (float)run->ns * KIB / (float)run->bytes;
    if (is_try)
        note_try(kind, run);
}

void weft_path_forget(weft_path_kind_t kinds[], size_t count, weft_path_t path)
{
    for (size_t i = 0; i < count; i++) {
        kinds[i].noted[path] = 0;
        kinds[i].next_try = messages_before_try(&kinds[i]);
    }
}

const char *weft_path_size_text(int size_class)
{
    static const char *const texts[] = {"below 64 KiB", "64 KiB", "256 KiB", "1 MiB"};
    return texts[size_class];
}

void weft_path_log_kind(const weft_path_kind_t *kind, const char *size, const char *what)
{
    if (kind->messages > 0)
        WEFT_LOG(
            WEFT_INFO, "shm",
            "messages of %s, %s: %u, by %s; ns per KiB (runs): read %.0f (%u) stream %.0f (%u)",
            size, what, kind->messages,
            weft_path_faster(kind) == WEFT_PATH_READ ? "reading" : "streams",
            (double)time_of(kind, WEFT_PATH_READ), kind->noted[WEFT_PATH_READ],
            (double)time_of(kind, WEFT_PATH_STREAM), kind->noted[WEFT_PATH_STREAM]);
}

void weft_path_log(const weft_path_choice_t *choice)
{
    static const char *const places[] = {
        [WEFT_APART] = "buffers apart", [WEFT_BEHIND] = "buffers behind"};
    for (int place = 0; place < WEFT_COPY_PLACES; place++) {
        for (int size = 0; size < WEFT_PATH_SIZES; size++)
            weft_path_log_kind(&choice->kinds[place][size], weft_path_size_text(size),
                               places[place]);
    }
}
