/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings of the ranks of one host in shared memory: "does everybody take part, and in what?"
 *
 * A rank that could do something together with all members of a communicator, if they all wanted
 * to, comes to the meeting of that number and leaves a offer. Nobody is obliged to come: who waits
 * may give up, and then the meeting is off for all, also for those who come later. The one who
 * comes last while it is still open finds all offers, and says how it ends. So ranks that know
 * nothing of meetings (their buffers are host memory, say) pay nothing.
 *
 *   arrive ----> OPEN ---- the last one arrives ----> GATHERED --------------------------> DONE
 *                 |                                     | | '--> SHARED ----> WORKING --> or FAILED
 *                 |                                     | '----------'-> OFF
 *                 '------ somebody gives up -----> OFF  '--> AGREED
 *
 * A board has DEPTH meetings at a time; one is used again when all who came have left. A word holds
 * number, counts and state of a meeting, so that each step is one compare-and-swap.
 *
 * How long to wait is learnt: when members came too late, later meetings are waited for longer;
 * when some never came, the next ones are left out, more and more of them.
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
    WEFT_MEETING_GATHERED, /* all offers are there; the last who came decides */
    WEFT_MEETING_SHARED,   /* all make ready to do a part of the work */
    WEFT_MEETING_WORKING,  /* and all do it */
    WEFT_MEETING_DONE,
    WEFT_MEETING_FAILED,
    WEFT_MEETING_OFF, /* each for himself */
    /* each does his part as soon as he sees this, and ends when that is done */
    WEFT_MEETING_AGREED,
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

/** The most bytes of a offer on a host with `ranks` ranks. */
size_t weft_meeting_offer_bytes(int ranks);

/** Set by the transport within the host before the first use: memory of weft_boards_bytes(), all
 *  zeros at first, and how to wake its ranks. NULL: there are no meetings. */
typedef struct weft_meeting_place {
    void *memory;
    int ranks;
    void (*wake)(int local_rank);
} weft_meeting_place_t;

extern weft_meeting_place_t weft_meeting_place;

/** The board of the communicator with this context whose first member on this host is `first` (a
 * local rank); NULL: there is none left. Claimed once by each member, and given back. */
weft_board_t *weft_board_claim(uint32_t context, int first);
void weft_board_release(weft_board_t *board);

/** Is the meeting of this number worth coming to? Numbers count up from 0 in the communicator's
 * calls. */
bool weft_board_meets(weft_board_t *board, uint32_t number);

/** Enter the meeting; false: it cannot be held (an older one is not over for all). Then the
 * offer is the caller's to fill in, and weft_meeting_arrive() follows. */
bool weft_meeting_enter(weft_board_t *board, uint32_t number, int members, int member,
                        weft_meeting_t *out);

/** The offer of a member, of weft_meeting_offer_bytes(): one's own, or once GATHERED anybody's. */
void *weft_meeting_offer(const weft_meeting_t *meeting, int member);

/** GATHERED: the caller is the last, and has to decide. OPEN or OFF otherwise, or what it has
 * come to meanwhile. */
weft_meeting_state_t weft_meeting_arrive(const weft_meeting_t *meeting);

weft_meeting_state_t weft_meeting_look(const weft_meeting_t *meeting);

/** For how long a member that waits should wait before it gives up. */
int64_t weft_meeting_patience_ns(const weft_meeting_t *meeting);

/** The state after it: OFF, if it was still open. */
weft_meeting_state_t weft_meeting_give_up(const weft_meeting_t *meeting);

/** By the last who came, or the last whose part is done. */
void weft_meeting_decide(const weft_meeting_t *meeting, weft_meeting_state_t state);

/** This member's part of what `during` (SHARED or WORKING) stands for is over. True for the last
 * member, who decides; *is_good becomes false if any part failed. */
bool weft_meeting_part_done(const weft_meeting_t *meeting, weft_meeting_state_t during,
                            bool *is_good);

/** After AGREED: this member cannot do its part, and those who wait for it should not. */
void weft_meeting_fail(const weft_meeting_t *meeting);
bool weft_meeting_has_failed(const weft_meeting_t *meeting);

/** The offer is not looked at any more. */
void weft_meeting_leave(const weft_meeting_t *meeting);

#endif
