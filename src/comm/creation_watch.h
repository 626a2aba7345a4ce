/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a communicator while members fail (WEFT_RECOVERY). Where the members wait for each other
 * by messages of no communicator, none could be revoked to free those that wait for a member that
 * lives, but has given up because it knew of a failure first. So each member watches, and gives up
 * by itself: all that live learn of a failure, so all come to an end.
 */
#ifndef WEFT_COMM_CREATION_WATCH_H
#define WEFT_COMM_CREATION_WATCH_H

#include "object/comm.h"
#include "base/list.h"

/** What a creation has to watch. Zeros: nothing. */
typedef struct wefti_watched {
    weft_group_t *group;         /* that none of these processes fails; NULL: none */
    const weft_comm_t *comms[2]; /* that none of these is revoked; NULL: none */
} wefti_watched_t;

typedef struct wefti_creation_watch {
    weft_link_t link;
    wefti_watched_t watched;
    int known_failures;
    /* Called once at most, with the lock, and with a text of weft_fail. */
    void (*on_trouble)(int error, void *owner);
    void *owner;
} wefti_creation_watch_t;

/** The caller has set `watched`, `on_trouble` and `owner`. on_trouble may be called before this
 *  returns. Without WEFT_RECOVERY nothing is watched. */
void wefti_creation_watch_begin(wefti_creation_watch_t *watch);
void wefti_creation_watch_end(wefti_creation_watch_t *watch);

#endif
