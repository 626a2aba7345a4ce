/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/creation_watch.h"

#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpix.h"

static weft_list_t watches = {&watches, &watches};

static int find_failure(weft_group_t *group, int from)
{
    for (int i = from; i < weft_failures.count; i++) {
        int process = weft_failures.at[i].process;
        if (weft_group_rank_of(group, process) != MPI_UNDEFINED)
            return weft_fail(MPIX_ERR_PROC_FAILED, "%s", weft_failure_text(process));
    }
    return MPI_SUCCESS;
}

static int find_trouble(wefti_creation_watch_t *watch)
{
    const wefti_watched_t *watched = &watch->watched;
    int err = MPI_SUCCESS, known = watch->known_failures;
    watch->known_failures = weft_failures.count;
    if (watched->group != NULL)
        err = find_failure(watched->group, known);
    for (int i = 0; err == MPI_SUCCESS && i < 2; i++) {
        if (watched->comms[i] != NULL)
            err = weft_pt2pt_check_revoked(watched->comms[i]);
    }
    return err;
}

/* What is called may end a wait, but ends no watch itself: that is for the thread that waits. */
static int creation_poll(bool everything)
{
    (void)everything;
    int found = 0;
    for (weft_link_t *at = watches.next, *next; at != &watches; at = next) {
        wefti_creation_watch_t *watch = WEFT_ELEMENT(at, wefti_creation_watch_t, link);
        next = at->next;
        int err = find_trouble(watch);
        if (err == MPI_SUCCESS)
            continue;
        weft_list_remove(at);
        watch->on_trouble(err, watch->owner);
        found++;
    }
    return found;
}

void wefti_creation_watch_begin(wefti_creation_watch_t *watch)
{
    weft_list_init(&watch->link);
    if (!weft_config.RECOVERY)
        return;
    watch->known_failures = 0;
    int err = find_trouble(watch);
    if (err != MPI_SUCCESS) {
        watch->on_trouble(err, watch->owner);
        return;
    }
    weft_list_append(&watches, &watch->link);
    weft_progress_need(creation_poll);
}

void wefti_creation_watch_end(wefti_creation_watch_t *watch)
{
    weft_list_remove(&watch->link);
    if (weft_list_is_empty(&watches))
        weft_progress_remove(creation_poll);
}
