/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/meeting.h"

enum {
    LINE = 64,
    POST_FIXED = 640,
    /* An offer has a row for each member, if the offers of all do not become too large by it. */
    ROW_BYTES = 32,
    ROW_RANKS_MAX = 32,
    PATIENCE_LEAST_US = 2000,
    PATIENCE_MOST_US = 1000000,
    SKIP_MOST = 4096,
};

typedef struct slot {
    _Alignas(LINE) atomic_ullong word;  /* of count_t */
    atomic_uint parts_done, worst_part; /* worst_part: a weft_meeting_part_t */
    atomic_uint deputy;                 /* HANDED: the member that should decide */
} slot_t;

/* How far a member is in the meeting of a slot. */
typedef enum progress_mark {
    MARK_INSIDE, /* it may be the one that decides, and works for all */
    MARK_RESTS,  /* it has not come last, so it does nothing before WORKING */
    MARK_WORKED, /* it has done its part of WORKING, or never will; or it has launched its kernel */
} progress_mark_t;

/* The memory of a board: weft_board_t, a mark for each slot and member, the claims of each rank of
 * the host, the offers. */

struct weft_board {
    _Alignas(LINE) atomic_ullong owner; /* of owner_t; 0: free */
    atomic_uint patience_us;
    atomic_uint skip, skip_until; /* meetings to leave out; number of the next one to hold */
    atomic_uint last_full;   /* number + 1 of the last meeting to which all came in time; 0: none */
    atomic_uint has_missed;  /* a member could not begin its part once */
    atomic_uint worker;      /* 1 + the member that last worked for all; 0: none */
    atomic_uint pause, vain; /* meetings that are not handed, and deputies that did not come */
    slot_t slots[WEFT_MEETINGS];
};

weft_meeting_place_t weft_meeting_place;

/* ---- the memory ---- */

size_t weft_meeting_offer_bytes(int ranks)
{
    return POST_FIXED + (ranks <= ROW_RANKS_MAX ? (size_t)ranks * ROW_BYTES : 0);
}

static size_t marks_bytes(int ranks)
{
    size_t bytes = (WEFT_MEETINGS + 1) * (size_t)ranks * sizeof(atomic_uint);
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t board_bytes(int ranks)
{
    return sizeof(weft_board_t) + marks_bytes(ranks) +
           WEFT_MEETINGS * (size_t)ranks * weft_meeting_offer_bytes(ranks);
}

size_t weft_boards_bytes(int ranks)
{
    return WEFT_BOARDS * board_bytes(ranks);
}

static weft_board_t *board_at(size_t index)
{
    char *memory = weft_meeting_place.memory;
    return (weft_board_t *)(void *)(memory + index * board_bytes(weft_meeting_place.ranks));
}

static atomic_uint *mark_of(const weft_meeting_t *meeting, int member)
{
    atomic_uint *marks = (atomic_uint *)(void *)(meeting->board + 1);
    return &marks[meeting->slot * weft_meeting_place.ranks + member];
}

static atomic_uint *claims_of(weft_board_t *board, int local_rank)
{
    atomic_uint *marks = (atomic_uint *)(void *)(board + 1);
    return &marks[WEFT_MEETINGS * weft_meeting_place.ranks + local_rank];
}

void *weft_meeting_offer(const weft_meeting_t *meeting, int member)
{
    size_t ranks = (size_t)weft_meeting_place.ranks;
    size_t index = (size_t)meeting->slot * ranks + (size_t)member;
    return (char *)(meeting->board + 1) + marks_bytes(weft_meeting_place.ranks) +
           index * weft_meeting_offer_bytes(weft_meeting_place.ranks);
}

/* ---- boards ---- */

/* | context 32 | first 12 | claims 12 | is being cleared 1 | is taken 1 | */
enum {
    TAKEN = 1,
    CLEARING = 2,
    CLAIM = 4,
    CLAIMS_MASK = 0xfff << 2,
    FIRST_SHIFT = 14,
    CONTEXT_SHIFT = 26
};

static unsigned long long name_of(uint32_t context, int first)
{
    return (unsigned long long)context << CONTEXT_SHIFT | (unsigned long long)first << FIRST_SHIFT |
           TAKEN;
}

static bool meeting_claim_board(weft_board_t *board, unsigned long long name)
{
    unsigned long long owner = atomic_load(&board->owner);
    do {
        unsigned long long others_name = owner & ~(unsigned long long)CLAIMS_MASK;
        if (owner != 0 && others_name != name)
            return false;
    } while (!atomic_compare_exchange_weak(&board->owner, &owner, (owner | name) + CLAIM));
    return true;
}

weft_board_t *weft_board_claim(uint32_t context, int first)
{
    unsigned long long name = name_of(context, first);
    for (size_t i = 0; weft_meeting_place.memory != NULL && i < WEFT_BOARDS; i++) {
        weft_board_t *board = board_at((context / 2 + (size_t)first + i) % WEFT_BOARDS);
        if (meeting_claim_board(board, name)) {
            atomic_fetch_add(claims_of(board, weft_meeting_place.rank), 1);
            return board;
        }
    }
    return NULL;
}

static void clear(weft_board_t *board)
{
    for (int i = 0; i < WEFT_MEETINGS; i++)
        atomic_store(&board->slots[i].word, 0);
    atomic_store(&board->patience_us, 0);
    atomic_store(&board->skip, 0);
    atomic_store(&board->skip_until, 0);
    atomic_store(&board->last_full, 0);
    atomic_store(&board->has_missed, 0);
    atomic_store(&board->worker, 0);
    atomic_store(&board->pause, 0);
    atomic_store(&board->vain, 0);
}

static void drop_claims(weft_board_t *board, unsigned claims)
{
    unsigned long long owner = atomic_load(&board->owner), rest;
    do {
        rest = owner - (unsigned long long)claims * CLAIM;
        if ((rest & CLAIMS_MASK) == 0)
            rest |= CLEARING;
    } while (!atomic_compare_exchange_weak(&board->owner, &owner, rest));
    if ((rest & CLEARING) != 0) {
        clear(board);
        atomic_store(&board->owner, 0);
    }
}

void weft_board_release(weft_board_t *board)
{
    atomic_fetch_sub(claims_of(board, weft_meeting_place.rank), 1);
    drop_claims(board, 1);
}

void weft_boards_release_of(int local_rank)
{
    for (size_t i = 0; weft_meeting_place.memory != NULL && i < WEFT_BOARDS; i++) {
        weft_board_t *board = board_at(i);
        unsigned claims = atomic_exchange(claims_of(board, local_rank), 0);
        if (claims > 0)
            drop_claims(board, claims);
    }
}

/* ---- the word of a meeting ---- */

/* | number 24 | entered 12 | arrived 12 | left 12 | state 4 | */
typedef struct count {
    uint32_t number;
    unsigned entered, arrived, left;
    weft_meeting_state_t state;
} count_t;

enum { NUMBER_MASK = 0xffffff, COUNT_MASK = 0xfff };

static count_t unpack_call(unsigned long long word)
{
    return (count_t){.number = (uint32_t)(word >> 40),
                     .entered = (unsigned)(word >> 28) & COUNT_MASK,
                     .arrived = (unsigned)(word >> 16) & COUNT_MASK,
                     .left = (unsigned)(word >> 4) & COUNT_MASK,
                     .state = (weft_meeting_state_t)(word & 0xf)};
}

static unsigned long long meeting_pack_call(const count_t *count)
{
    return (unsigned long long)count->number << 40 | (unsigned long long)count->entered << 28 |
           (unsigned long long)count->arrived << 16 | (unsigned long long)count->left << 4 |
           (unsigned long long)count->state;
}

static slot_t *slot_of_member(const weft_meeting_t *meeting)
{
    return &meeting->board->slots[meeting->slot];
}

static bool is_of(const count_t *count, uint32_t number)
{
    return count->entered > 0 && count->number == (number & NUMBER_MASK);
}

bool weft_board_meets(weft_board_t *board, uint32_t number)
{
    if ((int32_t)(number - atomic_load_explicit(&board->skip_until, memory_order_relaxed)) >= 0)
        return true;
    count_t count = unpack_call(atomic_load(&board->slots[number % WEFT_MEETINGS].word));
    return is_of(&count, number);
}

/* ---- how long to wait ---- */

static unsigned at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

/* The meeting `number` begins in the slot of an older one. If that one was off although all members
 * came, they came too late, and later meetings are waited for longer; if some members never came,
 * the next meetings are left out. */
static void learn_members(weft_board_t *board, const count_t *old, uint32_t number, int members)
{
    uint32_t full = atomic_load(&board->last_full);
    bool is_outdated = full != 0 && ((full - 1 - old->number) & NUMBER_MASK) < NUMBER_MASK / 2;
    if (old->state != WEFT_MEETING_OFF || is_outdated)
        return;
    if (old->arrived == (unsigned)members) {
        unsigned patience = atomic_load(&board->patience_us);
        atomic_store(&board->patience_us,
                     at_most(2 * (patience == 0 ? PATIENCE_LEAST_US : patience), PATIENCE_MOST_US));
        atomic_store(&board->skip, 0);
        return;
    }
    unsigned skip = at_most(2 * atomic_load(&board->skip) + 1, SKIP_MOST);
    atomic_store(&board->skip, skip);
    atomic_store(&board->skip_until, number + 1 + skip);
}

int64_t weft_meeting_patience_ns(const weft_meeting_t *meeting)
{
    unsigned patience = atomic_load_explicit(&meeting->board->patience_us, memory_order_relaxed);
    return (int64_t)(patience == 0 ? PATIENCE_LEAST_US : patience) * 1000;
}

/* ---- meetings ---- */

bool weft_meeting_enter(weft_board_t *board, uint32_t number, int members, int member,
                        weft_meeting_t *out)
{
    slot_t *slot = &board->slots[number % WEFT_MEETINGS];
    unsigned long long word = atomic_load(&slot->word), next;
    count_t old, count;
    do {
        old = count = unpack_call(word);
        if (!is_of(&old, number)) {
            if (old.left != old.entered)
                return false;
            count = (count_t){.number = number & NUMBER_MASK, .state = WEFT_MEETING_OPEN};
        }
        count.entered++;
        next = meeting_pack_call(&count);
    } while (!atomic_compare_exchange_weak(&slot->word, &word, next));
    if (count.entered == 1)
        learn_members(board, &old, number, members);
    *out = (weft_meeting_t){.board = board,
                            .number = number,
                            .slot = (int)(number % WEFT_MEETINGS),
                            .members = members,
                            .member = member};
    atomic_store(mark_of(out, member), MARK_INSIDE);
    return true;
}

weft_meeting_state_t weft_meeting_arrive(const weft_meeting_t *meeting)
{
    slot_t *slot = slot_of_member(meeting);
    unsigned long long word = atomic_load(&slot->word);
    count_t count;
    do {
        count = unpack_call(word);
        count.arrived++;
        if (count.state == WEFT_MEETING_OPEN && count.arrived == (unsigned)meeting->members)
            count.state = WEFT_MEETING_GATHERED;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, meeting_pack_call(&count)));
    if (count.state == WEFT_MEETING_GATHERED) {
        atomic_store(&slot->parts_done, 0);
        atomic_store(&slot->worst_part, WEFT_PART_DONE);
    } else {
        atomic_store(mark_of(meeting, meeting->member), MARK_RESTS);
    }
    return count.state;
}

weft_meeting_state_t weft_meeting_look(const weft_meeting_t *meeting)
{
    return unpack_call(atomic_load_explicit(&slot_of_member(meeting)->word, memory_order_acquire))
        .state;
}

/* Change the state to `to` if it is between `least` and `most`; returns the state before. */
static weft_meeting_state_t replace(const weft_meeting_t *meeting, weft_meeting_state_t least,
                                    weft_meeting_state_t most, weft_meeting_state_t to)
{
    slot_t *slot = slot_of_member(meeting);
    unsigned long long word = atomic_load(&slot->word);
    count_t count;
    weft_meeting_state_t before;
    do {
        count = unpack_call(word);
        before = count.state;
        if (before < least || before > most)
            return before;
        count.state = to;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, meeting_pack_call(&count)));
    return before;
}

/* The same; returns the state afterwards. */
static weft_meeting_state_t change(const weft_meeting_t *meeting, weft_meeting_state_t least,
                                   weft_meeting_state_t most, weft_meeting_state_t to)
{
    weft_meeting_state_t before = replace(meeting, least, most, to);
    return before < least || before > most ? before : to;
}

weft_meeting_state_t weft_meeting_give_up(const weft_meeting_t *meeting)
{
    return change(meeting, WEFT_MEETING_OPEN, WEFT_MEETING_OPEN, WEFT_MEETING_OFF);
}

static void wake_members(const weft_meeting_t *meeting)
{
    (void)meeting;
    for (int i = 0; i < weft_meeting_place.ranks; i++)
        weft_meeting_place.wake(i);
}

/* Where members decide that a meeting is off, all have come in time. */
void weft_meeting_decide(const weft_meeting_t *meeting, weft_meeting_state_t state)
{
    if (state == WEFT_MEETING_DONE || state == WEFT_MEETING_AGREED || state == WEFT_MEETING_OFF) {
        weft_board_t *board = meeting->board;
        atomic_store(&board->last_full, meeting->number + 1);
        atomic_store(&board->skip, 0);
        atomic_store(&board->skip_until, 0);
    }
    change(meeting, WEFT_MEETING_GATHERED, WEFT_MEETING_WORKING, state);
    wake_members(meeting);
}

/* ---- another member decides ---- */

int weft_meeting_worker(const weft_meeting_t *meeting)
{
    return (int)atomic_load_explicit(&meeting->board->worker, memory_order_relaxed) - 1;
}

void weft_meeting_note_worker(const weft_meeting_t *meeting)
{
    atomic_store_explicit(&meeting->board->worker, (unsigned)meeting->member + 1,
                          memory_order_relaxed);
}

bool weft_meeting_may_hand(const weft_meeting_t *meeting)
{
    atomic_uint *pause = &meeting->board->pause;
    unsigned left = atomic_load(pause);
    if (left > 0)
        atomic_store(pause, left - 1);
    return left == 0;
}

/* Only the one that has to decide calls this. */
static void learn_deputy(weft_board_t *board, bool has_come)
{
    enum { VAIN_MOST = 8 };
    unsigned vain = has_come ? 0 : atomic_load(&board->vain) + 1;
    atomic_store(&board->vain, vain);
    atomic_store(&board->pause, has_come ? 0 : 1U << (vain < VAIN_MOST ? vain : VAIN_MOST));
}

void weft_meeting_hand(const weft_meeting_t *meeting, int member)
{
    atomic_store(&slot_of_member(meeting)->deputy, (unsigned)member);
    change(meeting, WEFT_MEETING_GATHERED, WEFT_MEETING_GATHERED, WEFT_MEETING_HANDED);
    wake_members(meeting);
}

bool weft_meeting_is_deputy(const weft_meeting_t *meeting)
{
    return atomic_load(&slot_of_member(meeting)->deputy) == (unsigned)meeting->member;
}

/* The mark comes first: from the change of state on, this member may work. */
bool weft_meeting_take(const weft_meeting_t *meeting)
{
    atomic_uint *mark = mark_of(meeting, meeting->member);
    unsigned before = atomic_exchange(mark, MARK_INSIDE);
    if (replace(meeting, WEFT_MEETING_HANDED, WEFT_MEETING_HANDED, WEFT_MEETING_GATHERED) !=
        WEFT_MEETING_HANDED) {
        atomic_store(mark, before);
        return false;
    }
    learn_deputy(meeting->board, weft_meeting_is_deputy(meeting));
    return true;
}

void weft_meeting_rest(const weft_meeting_t *meeting)
{
    atomic_store(mark_of(meeting, meeting->member), MARK_RESTS);
}

void weft_meeting_refrain(const weft_meeting_t *meeting)
{
    atomic_store(mark_of(meeting, meeting->member), MARK_WORKED);
}

static void note_part(slot_t *slot, weft_meeting_part_t part)
{
    unsigned worst = atomic_load(&slot->worst_part);
    while (worst < (unsigned)part &&
           !atomic_compare_exchange_weak(&slot->worst_part, &worst, (unsigned)part))
        continue;
}

/* The parts of WORKING are counted from 0 again: none is over before the last one of SHARED. */
bool weft_meeting_part_done(const weft_meeting_t *meeting, weft_meeting_state_t during,
                            weft_meeting_part_t *part)
{
    slot_t *slot = slot_of_member(meeting);
    note_part(slot, *part);
    if (during == WEFT_MEETING_WORKING)
        atomic_store(mark_of(meeting, meeting->member), MARK_WORKED);
    if (atomic_fetch_add(&slot->parts_done, 1) + 1 < (unsigned)meeting->members)
        return false;
    atomic_store(&slot->parts_done, 0);
    *part = (weft_meeting_part_t)atomic_load(&slot->worst_part);
    if (*part == WEFT_PART_NOT_BEGUN)
        atomic_store(&meeting->board->has_missed, 1);
    return true;
}

bool weft_meeting_has_all_begun(const weft_meeting_t *meeting)
{
    return atomic_load_explicit(&meeting->board->has_missed, memory_order_relaxed) == 0;
}

/* ---- a member has died ---- */

/* In HANDED and SHARED nobody writes to the memory of others. */
static bool may_work(const weft_meeting_t *meeting, weft_meeting_state_t state, int member)
{
    progress_mark_t mark = (progress_mark_t)atomic_load(mark_of(meeting, member));
    return (state == WEFT_MEETING_GATHERED && mark < MARK_RESTS) ||
           (state == WEFT_MEETING_WORKING && mark < MARK_WORKED);
}

weft_meeting_state_t weft_meeting_abandon(const weft_meeting_t *meeting,
                                          weft_meeting_is_dead_t *is_dead, const void *owner)
{
    weft_meeting_state_t state = weft_meeting_give_up(meeting), after;
    if (state < WEFT_MEETING_HANDED || state > WEFT_MEETING_WORKING)
        return state;
    for (int i = 0; i < meeting->members; i++) {
        if (may_work(meeting, state, i) && !is_dead(owner, i))
            return state;
    }
    after = change(meeting, state, state, WEFT_MEETING_LOST);
    wake_members(meeting);
    return after;
}

void weft_meeting_note_launch(const weft_meeting_t *meeting)
{
    atomic_store(mark_of(meeting, meeting->member), MARK_WORKED);
}

int weft_meeting_lacking(const weft_meeting_t *meeting)
{
    for (int i = 0; i < meeting->members; i++) {
        if (atomic_load(mark_of(meeting, i)) != MARK_WORKED)
            return i;
    }
    return -1;
}

void weft_meeting_fail(const weft_meeting_t *meeting)
{
    note_part(slot_of_member(meeting), WEFT_PART_FAILED);
    wake_members(meeting);
}

bool weft_meeting_has_failed(const weft_meeting_t *meeting)
{
    return atomic_load_explicit(&slot_of_member(meeting)->worst_part, memory_order_acquire) ==
           WEFT_PART_FAILED;
}

void weft_meeting_leave(const weft_meeting_t *meeting)
{
    slot_t *slot = slot_of_member(meeting);
    atomic_fetch_add(&slot->word, 1ULL << 4);
}
