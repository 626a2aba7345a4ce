/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File descriptors for other ranks of the host, which get them over Unix-domain sockets
 * (SCM_RIGHTS). A process id is never used: it may name another process in another container, and
 * many containers forbid pidfd_getfd(2).
 *
 *   owner  weft_fd_offer(fd) --> ticket ..(any way)..> peer  weft_fd_fetch(owner, ticket)
 *                                                              |  asks, and returns AWAITED
 *          answers in its next round of progress <-------------'
 *             '---- the descriptor ----> fetch returns it
 *
 * Nobody waits here: the peer takes another way meanwhile, or tries again as it makes progress. An
 * owner that knows who needs the descriptor may also send it unasked, by weft_fd_push(), before it
 * tells of the ticket. What gets lost (a socket has room for ten letters on many hosts) is asked
 * for again. The socket of a rank has a name that it shows in memory shared by the ranks, and
 * letters of other users are thrown away.
 */
#ifndef WEFT_RUNTIME_FD_MAIL_H
#define WEFT_RUNTIME_FD_MAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** What a rank shows to the others; in shared memory, all zeros at first. */
typedef struct weft_fd_box {
    _Alignas(64) atomic_uint arrivals; /* raised after each letter to this rank */
    atomic_uint name_bytes;            /* 0: it has no socket yet */
    char name[108];                    /* sun_path */
} weft_fd_box_t;

/** Set by the transport within the host; all zeros: no rank can be asked. */
typedef struct weft_fd_place {
    int ranks, rank; /* of the host; this one */
    weft_fd_box_t *(*box)(int local_rank);
    void (*wake)(int local_rank);
} weft_fd_place_t;

extern weft_fd_place_t weft_fd_place;

/** Let the other ranks have copies of `fd`, which stays the caller's, until the ticket is
 *  withdrawn. Returns the ticket, a number that is not used again; 0: there is no memory. */
uint64_t weft_fd_offer(int fd);

/** To be called before the descriptor is closed. 0 is no ticket. */
void weft_fd_withdraw(uint64_t ticket);

/** Take part before anything is fetched or offered, so that descriptors can come unasked. */
void weft_fd_mail_open(void);

/** Send the descriptor of a ticket to a rank of this job, once, or `again`. */
void weft_fd_push(uint64_t ticket, int rank, bool again);

typedef enum weft_fd_answer {
    WEFT_FD_HERE,    /* *out is the caller's, who closes it */
    WEFT_FD_AWAITED, /* the owner has been asked: try again */
    WEFT_FD_REFUSED, /* the owner has none under this ticket, or cannot be asked */
} weft_fd_answer_t;

/** Fetch a descriptor that rank `owner` of this job has offered. */
weft_fd_answer_t weft_fd_fetch(int owner, uint64_t ticket, int *out);

/** Was the last answer to this question AWAITED, with no other since? */
bool weft_fd_is_awaited(int owner, uint64_t ticket);

/** What `owner` has sent under this ticket is not needed any more. */
void weft_fd_forget(int owner, uint64_t ticket);

/** Why this process cannot get descriptors at all, in words; NULL: it can. */
const char *weft_fd_mail_trouble(void);

/** Close the socket and forget all offers. */
void weft_fd_mail_close(void);

#endif
