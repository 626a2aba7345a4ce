/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/revoke.h"

#include "ft/note_private.h"
#include "pt2pt/pt2pt.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

enum { EARLY_MOST = 16, ROUNDS_PER_LOOK = 64, LOOKS_MOST = 20000 };

static int mark_revoked(weft_comm_t *comm)
{
    weft_comm_t *whole = weft_comm_whole(comm);
    comm->is_revoked = whole->is_revoked = true;
    return weft_pt2pt_revoke(comm->context);
}

static void spread_revocation(const weft_comm_t *whole)
{
    wefti_note_t note = {.kind = WEFTI_NOTE_REVOKE,
                         .rank = whole->rank,
                         .context = whole->context,
                         .check = wefti_check_of(whole->group),
                         .size = whole->size};
    wefti_spread(whole->group, &note);
}

/* The news go out first: a rank that is told may use the communicator no more when this one does
 * what its requests that end make it do. */
int weft_comm_revoke(weft_comm_t *comm)
{
    if (comm->is_revoked)
        return MPI_SUCCESS;
    spread_revocation(weft_comm_whole(comm));
    return mark_revoked(comm);
}

/* The communicator that is revoked, as a note names it. */
typedef struct revoked {
    uint32_t context, check;
    int32_t size;
} revoked_t;

static bool obey_revocation(const revoked_t *revoked)
{
    weft_comm_t *comm = (weft_comm_t *)weft_comm_of_context(revoked->context);
    if (comm == NULL)
        return false;
    weft_comm_t *whole = weft_comm_whole(comm);
    if (comm->is_revoked || whole->size != revoked->size ||
        wefti_check_of(whole->group) != revoked->check)
        return true;
    spread_revocation(whole);
    if (mark_revoked(comm) != MPI_SUCCESS)
        WEFT_LOG(WEFT_ERROR, "ft", "a communicator cannot be revoked: %s", weft_fail_text());
    return true;
}

/* ---- news of communicators that are not there ---- */

/* This process has freed it, or has not made it yet: then it must not miss the news. */
static struct {
    revoked_t revoked;
    int looks_left; /* 0: nothing is here */
} early[EARLY_MOST];
static int early_next;

static int revoke_poll(bool everything)
{
    static int rounds;
    int left = 0, found = 0;
    if (!everything && ++rounds % ROUNDS_PER_LOOK != 0)
        return 0;
    for (int i = 0; i < EARLY_MOST; i++) {
        if (early[i].looks_left == 0)
            continue;
        early[i].looks_left--;
        if (obey_revocation(&early[i].revoked)) {
            early[i].looks_left = 0;
            found++;
        }
        left += early[i].looks_left;
    }
    if (left == 0)
        weft_progress_remove(revoke_poll);
    return found;
}

void wefti_revocation_is_told(const wefti_note_t *note)
{
    revoked_t revoked = {note->context, note->check, note->size};
    if (obey_revocation(&revoked))
        return;
    early[early_next].revoked = revoked;
    early[early_next].looks_left = LOOKS_MOST;
    early_next = (early_next + 1) % EARLY_MOST;
    weft_progress_need(revoke_poll);
}
