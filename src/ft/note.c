/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/note_private.h"

#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "base/log.h"

#include <string.h>

enum { ALL_MOST = 16, NOTE_MOST = 64 * 1024 };

/* FNV-1a over the ranks in MPI_COMM_WORLD. */
uint32_t wefti_check_of(const weft_group_t *group)
{
    uint32_t hash = 2166136261U;
    for (int rank = 0; rank < group->size; rank++)
        hash = (hash ^ (uint32_t)weft_process_rank(weft_group_process(group, rank))) * 16777619U;
    return hash;
}

/* The first at `rank` or beyond it, in steps of `step`, that has not failed; the own rank: none. */
static int next_alive(const weft_group_t *group, int rank, int step)
{
    while (rank != group->rank && weft_has_failed(weft_group_process(group, rank)))
        rank = (rank + step + group->size) % group->size;
    return rank;
}

void wefti_neighbours_each(const weft_group_t *group, void (*visit)(int process, void *context),
                           void *context)
{
    int size = group->size;
    for (int64_t far = 1; far < size; far = size <= ALL_MOST ? far + 1 : 2 * far) {
        int ahead = next_alive(group, (int)((group->rank + far) % size), 1);
        int behind = next_alive(group, (int)((group->rank + size - far) % size), -1);
        if (ahead != group->rank)
            visit(weft_group_process(group, ahead), context);
        if (behind != group->rank && behind != ahead && size > ALL_MOST)
            visit(weft_group_process(group, behind), context);
    }
}

static void send_news(int process, void *context)
{
    weft_pt2pt_send_note(process, context, sizeof(wefti_note_t));
}

void wefti_spread(const weft_group_t *group, const wefti_note_t *note)
{
    wefti_note_t copy = *note;
    wefti_neighbours_each(group, send_news, &copy);
}

static void dispatch(int source, const wefti_note_t *note, size_t bytes)
{
    if (note->kind == WEFTI_NOTE_FAILED)
        wefti_failure_is_told(source, note);
    else if (note->kind == WEFTI_NOTE_REVOKE)
        wefti_revocation_is_told(note);
    else if (note->kind <= WEFTI_NOTE_DECIDE)
        wefti_consensus_is_told(note, bytes);
}

/* Copied, since a packet's payload need not be aligned. */
static void note_arrived(int source, const void *data, size_t bytes)
{
    _Alignas(wefti_note_t) char room[NOTE_MOST];
    if (bytes < sizeof(wefti_note_t) || bytes > NOTE_MOST) {
        WEFT_LOG(WEFT_ERROR, "ft", "dropped a note of %zu bytes", bytes);
        return;
    }
    memcpy(room, data, bytes);
    dispatch(source, (const wefti_note_t *)(const void *)room, bytes);
}

void wefti_notes_open(void)
{
    weft_pt2pt_on_note = note_arrived;
}

void wefti_notes_close(void)
{
    weft_pt2pt_on_note = NULL;
}
