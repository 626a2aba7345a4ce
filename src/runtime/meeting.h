/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings of the ranks of one host in shared memory, where they find out whether all members of a
 * communicator take part in an operation, and how.
 *
 * A rank that could do an operation together with all members of a communicator comes to the
 * meeting of that number and leaves an offer. No rank has to come: a rank that waits may give up,
 * and then the meeting is off for all members, also for those that come later. The rank that comes
 * last while the meeting is open finds all offers, and decides how the meeting ends. So ranks that
 * do not use meetings (their buffers are host memory, say) pay nothing.
 *
 *   arrive ----> OPEN ---- the last rank arrives ---> GATHERED --------------------------> DONE
 *                 |                                     | | '--> SHARED ----> WORKING --> or FAILED
 *                 |                                     | |----------'-> OFF
 *                 |                                     | '--> WORKING --> DONE, FAILED or OFF
 *                 '------ a rank gives up -------> OFF  '--> AGREED
 *
 * Where processes take turns on a device, each change of turns takes longer than most collectives.
 * So the member that came last may hand the decision, and the work, to the one that worked at the
 * board's last meeting: GATHERED -> HANDED -> GATHERED. If that one does not take it soon, the one
 * that came last takes it back.
 *
 * A member may die (WEFT_RECOVERY). What it would have decided, or its part, never comes then. The
 * others end the meeting as LOST, from GATHERED, SHARED or WORKING, as soon as no member that lives
 * works for it any more: until then one of them may still write to the memory of all. So each
 * member shows in the slot how far it is.
 *
 * A board has WEFT_MEETINGS meetings at a time; a slot is used again when all ranks that came have
 * left. A word holds number, counts and state of a meeting, so that each step is one
 * compare-and-swap.
 *
 * A board learns how long to wait: when members came too late, later meetings are waited for
 * longer; when some never came, the next ones are left out, more and more of them.
 */
#ifndef WEFT_RUNTIME_MEETING_H
#define WEFT_RUNTIME_MEETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_BOARDS = 32,  /* communicators of a host that meet at a time */
    WEFT_MEETINGS = 4, /* of a board at a time */
    WEFT_MEMBERS_MAX = 4095,
};

typedef enum weft_meeting_state {
    WEFT_MEETING_OPEN,
    WEFT_MEETING_HANDED,   /* as GATHERED, but another member should decide */
    WEFT_MEETING_GATHERED, /* all offers are there; the rank that came last decides */
    WEFT_MEETING_SHARED,   /* all members prepare to do a part of the work each */
    WEFT_MEETING_WORKING,  /* all members do their parts; without SHARED they prepare here */
    WEFT_MEETING_DONE,
    WEFT_MEETING_FAILED,
    WEFT_MEETING_OFF, /* each rank goes on without the others */
    /* each member does its part as soon as it sees this, and ends when that is done */
    WEFT_MEETING_AGREED,
    WEFT_MEETING_LOST, /* a member has died */
} weft_meeting_state_t;

/** In shared memory, all zeros at first. */
typedef struct weft_board weft_board_t;

/** A meeting as one member sees it. */
typedef struct weft_meeting {
    weft_board_t *board;
    uint32_t number;
    int slot, members, member;
} weft_meeting_t;

/** Memory for the boards of a host with `ranks` ranks; every offer has `offer_bytes`. */
size_t weft_boards_bytes(int ranks);

/** The most bytes of an offer on a host with `ranks` ranks. */
size_t weft_meeting_offer_bytes(int ranks);

/** Set by the transport within the host before the first use: memory of weft_boards_bytes(), all
 *  zeros at first, and a function that wakes a rank. NULL: there are no meetings. */
typedef struct weft_meeting_place {
    void *memory;
    int ranks;
    void (*wake)(int local_rank);
    int rank; /* this process's local rank */
} weft_meeting_place_t;

extern weft_meeting_place_t weft_meeting_place;

/** The board of the communicator with this context whose first member on this host is `first` (a
 * local rank); NULL: no board is free. Each member claims it once, and releases it. */
weft_board_t *weft_board_claim(uint32_t context, int first);
void weft_board_release(weft_board_t *board);

/** A rank of this host has died: release the boards that it had claimed. Any number of ranks may
 * call this for it. */
void weft_boards_release_of(int local_rank);

/** Is it worth coming to the meeting of this number? Each call of the communicator has a number,
 * counted from 0. */
bool weft_board_meets(weft_board_t *board, uint32_t number);

/** Enter the meeting; false: it cannot be held (its slot is still in use by an older one). After
 * true the caller fills in its offer and calls weft_meeting_arrive(). */
bool weft_meeting_enter(weft_board_t *board, uint32_t number, int members, int member,
                        weft_meeting_t *out);

/** The offer of a member, of weft_meeting_offer_bytes(): the caller's own, once GATHERED any. */
void *weft_meeting_offer(const weft_meeting_t *meeting, int member);

/** Returns GATHERED if the caller is the last member, which has to decide; otherwise the state that
 * the meeting has come to: OPEN or OFF, if it is not further. */
weft_meeting_state_t weft_meeting_arrive(const weft_meeting_t *meeting);

weft_meeting_state_t weft_meeting_look(const weft_meeting_t *meeting);

/** How long a member should wait before it gives up. */
int64_t weft_meeting_patience_ns(const weft_meeting_t *meeting);

/** Returns the state afterwards: OFF, if the meeting was still open. */
weft_meeting_state_t weft_meeting_give_up(const weft_meeting_t *meeting);

/** Called by the member that came last, or by the one whose part was done last. */
void weft_meeting_decide(const weft_meeting_t *meeting, weft_meeting_state_t state);

/** The member that last worked for all members at a meeting of this board; -1: none, so far. */
int weft_meeting_worker(const weft_meeting_t *meeting);
void weft_meeting_note_worker(const weft_meeting_t *meeting);

/** Is it worth asking another member to decide? Not for some meetings after one was asked in vain:
 * it may be outside of MPI for long, or without a processor. */
bool weft_meeting_may_hand(const weft_meeting_t *meeting);

/** Called by the member that came last: hand the decision to `member`, another one. */
void weft_meeting_hand(const weft_meeting_t *meeting, int member);

/** HANDED: is it this member that should decide? */
bool weft_meeting_is_deputy(const weft_meeting_t *meeting);

/** HANDED: take the decision, as the deputy, or back, which the board notes. True: this member has
 * to decide. */
bool weft_meeting_take(const weft_meeting_t *meeting);

/** The member that came last sees that the deputy has taken the decision. */
void weft_meeting_rest(const weft_meeting_t *meeting);

/** How a member's part has ended; the greatest counts for all of them. */
typedef enum weft_meeting_part {
    WEFT_PART_DONE,
    WEFT_PART_NOT_BEGUN, /* the member cannot do it, but can go on without the others */
    WEFT_PART_FAILED,
} weft_meeting_part_t;

/** This member's part of what `during` (SHARED or WORKING) stands for is over. True for the last
 * member, which decides; *part is then that of all. */
bool weft_meeting_part_done(const weft_meeting_t *meeting, weft_meeting_state_t during,
                            weft_meeting_part_t *part);

/** Have all members been able to begin their parts so far, on this board? */
bool weft_meeting_has_all_begun(const weft_meeting_t *meeting);

/** In WORKING, instead of this member's part: it will not do it, since a member has died. */
void weft_meeting_refrain(const weft_meeting_t *meeting);

/** Has a member died? */
typedef bool weft_meeting_is_dead_t(const void *owner, int member);

/**
 * A member has died: end the meeting as LOST, or as OFF where not all have come, unless a living
 * member may still work for it; then this has to be called again. After AGREED it does nothing.
 * is_dead  asked, with `owner`, which members have died
 * returns  the state afterwards
 */
weft_meeting_state_t weft_meeting_abandon(const weft_meeting_t *meeting,
                                          weft_meeting_is_dead_t *is_dead, const void *owner);

/** After AGREED: this member has launched its kernel. */
void weft_meeting_note_launch(const weft_meeting_t *meeting);

/** After AGREED: a member that has not launched its kernel; -1: all have. */
int weft_meeting_lacking(const weft_meeting_t *meeting);

/** After AGREED: tell the other members that this one cannot do its part, so that they do not wait
 * for it. */
void weft_meeting_fail(const weft_meeting_t *meeting);
bool weft_meeting_has_failed(const weft_meeting_t *meeting);

/** To be called when this member has no use for the offers of others. */
void weft_meeting_leave(const weft_meeting_t *meeting);

#endif
