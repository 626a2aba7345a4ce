/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of ranks, and what is read where a program has written something else. */
#include "launch/node/rank_notes.h"

#include "base/log.h"
#include "base/rank_note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 5, HOST = 1 };

/* Ranks 1, 3 and 4 are on host 1. */
static int ranks_here[] = {1, 3, 4}, ranks_there[] = {0, 2}, host_of[] = {0, 1, 0, 1, 1},
           local_rank[] = {0, 0, 1, 1, 2};
static wl_placed_host_t hosts[] = {{.name = "a", .ranks = ranks_there, .count = 2},
                                   {.name = "b", .ranks = ranks_here, .count = 3}};
static wl_job_plan_t plan = {.size = SIZE,
                             .placement = {.hosts = hosts,
                                           .host_count = 2,
                                           .host_of = host_of,
                                           .local_rank = local_rank,
                                           .size = SIZE}};
static wl_rank_notes_t notes;
static wl_loop_t loop;

static void open_notes(void)
{
    wl_loop_open(&loop);
    assert_int_equal(wl_rank_notes_open(&plan, HOST, &loop, &notes), 0);
}

static void close_notes(void)
{
    wl_rank_notes_close(&notes);
    wl_loop_close(&loop);
}

static void write_note(const weft_rank_note_t *note, const char *text)
{
    char piece[sizeof(*note) + WEFT_NOTE_TEXT_MOST];
    memcpy(piece, note, sizeof(*note));
    memcpy(piece + sizeof(*note), text, note->text_bytes);
    size_t bytes = sizeof(*note) + note->text_bytes;
    assert_int_equal(write(notes.inherited, piece, bytes), bytes);
}

static void notes_become_events(void **unused)
{
    const weft_rank_note_t connected = {WEFT_NOTE_MAGIC, WEFT_NOTE_CONNECTED, 0, 3, 0},
                           aborted = {WEFT_NOTE_MAGIC, WEFT_NOTE_ABORTED, 4, 4, -7};
    wl_rank_event_t event;
    (void)unused;
    open_notes();
    assert_false(wl_rank_notes_next(&notes, &event));
    assert_false(wl_rank_notes_has_written(&notes, 3));
    write_note(&connected, "");
    write_note(&aborted, "why");
    assert_true(wl_rank_notes_next(&notes, &event));
    assert_int_equal(event.kind, WL_RANK_CONNECTED);
    assert_int_equal(event.rank, 3);
    assert_true(wl_rank_notes_has_written(&notes, 3));
    assert_false(wl_rank_notes_has_written(&notes, 4));
    assert_true(wl_rank_notes_next(&notes, &event));
    assert_int_equal(event.kind, WL_RANK_ABORTED);
    assert_int_equal(event.code, -7);
    assert_string_equal(event.text, "why");
    assert_false(wl_rank_notes_next(&notes, &event));
    close_notes();
}

/* The longest text, without its zero. */
static void texts_end(void **unused)
{
    const weft_rank_note_t note = {WEFT_NOTE_MAGIC, WEFT_NOTE_LOST_PEER, WEFT_NOTE_TEXT_MOST, 1,
                                   16};
    char text[WEFT_NOTE_TEXT_MOST];
    wl_rank_event_t event;
    (void)unused;
    memset(text, 'x', sizeof(text));
    open_notes();
    write_note(&note, text);
    assert_true(wl_rank_notes_next(&notes, &event));
    assert_int_equal(event.kind, WL_RANK_LOST_PEER);
    assert_int_equal(strlen(event.text), sizeof(event.text) - 1);
    close_notes();
}

/* After anything that is no note of a rank of this host, nothing more is read. */
static void expect_stop(const void *data, size_t bytes)
{
    wl_rank_event_t event;
    open_notes();
    assert_int_equal(write(notes.inherited, data, bytes), bytes);
    assert_false(wl_rank_notes_next(&notes, &event));
    assert_int_equal(wl_loop_turn(&loop, 0), 0);
    assert_false(wl_rank_notes_next(&notes, &event));
    assert_false(wl_rank_notes_has_written(&notes, 1));
    close_notes();
}

static void anything_else_ends_the_reading(void **unused)
{
    const weft_rank_note_t bad[] = {
        {WEFT_NOTE_MAGIC + 1, WEFT_NOTE_FINALIZED, 0, 1, 0},
        {WEFT_NOTE_MAGIC, 0, 0, 1, 0},
        {WEFT_NOTE_MAGIC, WEFT_NOTE_LOST_PEER + 1, 0, 1, 0},
        {WEFT_NOTE_MAGIC, WEFT_NOTE_ABORTED, WEFT_NOTE_TEXT_MOST + 1, 1, 0},
        {WEFT_NOTE_MAGIC, WEFT_NOTE_ABORTED, 4, 1, 0}, /* and no text */
        {WEFT_NOTE_MAGIC, WEFT_NOTE_FINALIZED, 0, 2, 0},
        {WEFT_NOTE_MAGIC, WEFT_NOTE_FINALIZED, 0, -1, 0},
        {WEFT_NOTE_MAGIC, WEFT_NOTE_FINALIZED, 0, SIZE, 0},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_stop(&bad[i], sizeof(bad[i]));
    for (size_t bytes = 1; bytes < sizeof(bad[0]); bytes++)
        expect_stop("a line of a program's own", bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_become_events),
        cmocka_unit_test(texts_end),
        cmocka_unit_test(anything_else_ends_the_reading),
    };
    weft_log_threshold = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
