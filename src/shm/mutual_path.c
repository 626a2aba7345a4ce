/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/mutual_path.h"

#include <stddef.h>

/* Runs without overlap after which two ranks are no longer believed to exchange. */
enum { RUNS_BELIEVED = 16 };

static void show(weft_shown_path_t *shown, weft_path_t path)
{
    atomic_store_explicit(shown, (unsigned char)(1 + path), memory_order_relaxed);
}

void weft_mutual_open(weft_mutual_choice_t *choice)
{
    for (int size = 0; size < WEFT_PATH_SIZES; size++)
        choice->kinds[size] = (weft_path_kind_t){.first = WEFT_PATH_STREAM, .trusts_first = true};
}

void weft_mutual_note_overlap(weft_mutual_choice_t *choice, weft_mutual_path_t *pair,
                              weft_shown_path_t shown[WEFT_PATH_SIZES])
{
    bool is_new = pair->runs_left == 0;
    pair->runs_left = RUNS_BELIEVED;
    pair->has_overlap = true;
    for (int size = 0; is_new && size < WEFT_PATH_SIZES; size++)
        show(&shown[size], weft_path_faster(&choice->kinds[size]));
}

void weft_mutual_begin(weft_mutual_choice_t *choice, weft_mutual_path_t *pair, weft_path_t path,
                       size_t bytes, int64_t now_ns)
{
    if (weft_mutual_is_on(pair))
        return;
    pair->kind = &choice->kinds[weft_path_size_class(bytes)];
    pair->run = (weft_path_run_t){.path = path, .ns = -now_ns};
    pair->is_try = path != weft_path_faster(pair->kind);
    pair->unmeasured = 0;
    pair->unmeasured_bytes = 0;
}

static void stop_believing(weft_shown_path_t shown[WEFT_PATH_SIZES])
{
    for (int size = 0; size < WEFT_PATH_SIZES; size++)
        atomic_store_explicit(&shown[size], 0, memory_order_relaxed);
}

void weft_mutual_end(weft_mutual_path_t *pair, weft_shown_path_t shown[WEFT_PATH_SIZES],
                     weft_mutual_choice_t *choice, int64_t now_ns)
{
    weft_path_kind_t *kind = pair->kind;
    pair->kind = NULL;
    pair->run.ns += now_ns;
    if (pair->is_try)
        kind->tried_bytes += pair->unmeasured_bytes;
    if (pair->run.bytes > 0)
        weft_path_note(kind, &pair->run);
    if (!pair->has_overlap && --pair->runs_left == 0)
        stop_believing(shown);
    else
        show(&shown[kind - choice->kinds], weft_path_choose(kind));
    pair->has_overlap = false;
}

void weft_mutual_log(const weft_mutual_choice_t *choice)
{
    for (int size = 0; size < WEFT_PATH_SIZES; size++)
        weft_path_log_kind(&choice->kinds[size], weft_path_size_text(size), "both ways");
}
