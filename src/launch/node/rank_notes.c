/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/node/rank_notes.h"

#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rank_note.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Scripts use the small numbers for files of their own. */
enum { FIRST_UNUSED_FD = 60 };

_Static_assert(sizeof(weft_rank_note_t) + WEFT_NOTE_TEXT_MOST <= PIPE_BUF, "written in one piece");

int wl_rank_notes_open(const wl_job_plan_t *plan, int host, wl_loop_t *loop, wl_rank_notes_t *out)
{
    int ends[2];
    *out = (wl_rank_notes_t){.loop = loop,
                             .fd = -1,
                             .inherited = -1,
                             .ours = &plan->placement.hosts[host],
                             .local_rank = plan->placement.local_rank,
                             .size = plan->size};
    out->has_written = weft_alloc_zeroed((size_t)out->ours->count, sizeof(bool));
    if (out->has_written == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", out->ours->count);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SERVICE, "a pipe cannot be made: %s", strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    out->fd = ends[0];
    out->inherited = fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_UNUSED_FD);
    if (out->inherited < 0)
        out->inherited = ends[1];
    else
        close(ends[1]);
    return wl_loop_add(loop, out->fd, POLLIN, NULL, NULL);
}

int wl_rank_notes_extend_environment(const wl_rank_notes_t *notes, const char *job,
                                     wl_variables_t *environment)
{
    char value[320];
    struct stat status;
    if (fstat(notes->inherited, &status) != 0)
        return MPI_SUCCESS; /* the rank does without */
    snprintf(value, sizeof(value), "%d:%llu:%s", notes->inherited,
             (unsigned long long)status.st_ino, job);
    return wl_variables_set(environment, "WEFT_NOTES", value);
}

static wl_rank_event_kind_t event_kind(int kind)
{
    static const wl_rank_event_kind_t kinds[] = {[WEFT_NOTE_CONNECTED] = WL_RANK_CONNECTED,
                                                 [WEFT_NOTE_FINALIZED] = WL_RANK_FINALIZED,
                                                 [WEFT_NOTE_ABORTED] = WL_RANK_ABORTED,
                                                 [WEFT_NOTE_LOST_PEER] = WL_RANK_LOST_PEER};
    return kinds[kind];
}

/* Is the rank one of this host? */
static bool is_rank_of_host(const wl_rank_notes_t *notes, int rank)
{
    if (rank < 0 || rank >= notes->size)
        return false;
    int index = notes->local_rank[rank];
    return index < notes->ours->count && notes->ours->ranks[index] == rank;
}

static bool is_sound_note(const wl_rank_notes_t *notes, const weft_rank_note_t *note)
{
    return note->magic == WEFT_NOTE_MAGIC && note->kind >= WEFT_NOTE_CONNECTED &&
           note->kind <= WEFT_NOTE_LOST_PEER && note->text_bytes <= WEFT_NOTE_TEXT_MOST &&
           is_rank_of_host(notes, note->rank);
}

/* A program has written something else into a descriptor that it did not open. The pipe stays open
 * and is emptied: ranks that write to it must neither be killed nor wait. */
static void take_no_more(wl_rank_notes_t *notes)
{
    WEFT_LOG(WEFT_WARN, "launch",
             "a program has written to descriptor %d, which Weft's ranks use; the PMIx server is "
             "asked in its place",
             notes->inherited);
    notes->has_garbage = true;
}

static void empty_pipe(const wl_rank_notes_t *notes)
{
    char piece[PIPE_BUF];
    while (read(notes->fd, piece, sizeof(piece)) > 0)
        continue;
}

bool wl_rank_notes_next(wl_rank_notes_t *notes, wl_rank_event_t *out)
{
    weft_rank_note_t note;
    if (notes->fd < 0)
        return false;
    if (notes->has_garbage) {
        empty_pipe(notes);
        return false;
    }
    ssize_t bytes = read(notes->fd, &note, sizeof(note));
    if (bytes < 0)
        return false;
    *out = (wl_rank_event_t){0};
    if (bytes != (ssize_t)sizeof(note) || !is_sound_note(notes, &note) ||
        read(notes->fd, out->text, note.text_bytes) != (ssize_t)note.text_bytes) {
        take_no_more(notes);
        empty_pipe(notes);
        return false;
    }
    out->text[sizeof(out->text) - 1] = '\0';
    out->kind = event_kind(note.kind);
    out->rank = note.rank;
    out->code = note.code;
    notes->has_written[notes->local_rank[note.rank]] = true;
    return true;
}

bool wl_rank_notes_has_written(const wl_rank_notes_t *notes, int rank)
{
    return !notes->has_garbage && is_rank_of_host(notes, rank) &&
           notes->has_written[notes->local_rank[rank]];
}

void wl_rank_notes_close(wl_rank_notes_t *notes)
{
    if (notes->fd >= 0) {
        wl_loop_remove(notes->loop, notes->fd);
        close(notes->fd);
    }
    if (notes->inherited >= 0)
        close(notes->inherited);
    weft_free(notes->has_written);
    *notes = (wl_rank_notes_t){.fd = -1, .inherited = -1};
}
