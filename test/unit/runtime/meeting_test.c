/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/meeting.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5, NUMBERS = 2000, CONTEXT = 6 };

static void wake_nobody(int local_rank)
{
    (void)local_rank;
}

static int open_boards(void **state)
{
    size_t bytes = weft_boards_bytes(RANKS);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(memory, 0, bytes);
    weft_meeting_place =
        (weft_meeting_place_t){.memory = memory, .ranks = RANKS, .wake = wake_nobody};
    *state = memory;
    return memory == NULL;
}

static int close_boards(void **state)
{
    free(*state);
    weft_meeting_place.memory = NULL;
    return 0;
}

static weft_meeting_t enter(weft_board_t *board, uint32_t number, int member)
{
    weft_meeting_t meeting;
    assert_true(weft_meeting_enter(board, number, RANKS, member, &meeting));
    return meeting;
}

static void the_last_decides(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (int i = 0; i < RANKS; i++) {
        meetings[i] = enter(board, 7, i);
        *(int *)weft_meeting_offer(&meetings[i], i) = 10 + i;
        weft_meeting_state_t expected = i < RANKS - 1 ? WEFT_MEETING_OPEN : WEFT_MEETING_GATHERED;
        assert_int_equal(weft_meeting_arrive(&meetings[i]), expected);
    }
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(*(int *)weft_meeting_offer(&meetings[RANKS - 1], i), 10 + i);
    assert_int_equal(weft_meeting_give_up(&meetings[0]), WEFT_MEETING_GATHERED);
    weft_meeting_decide(&meetings[RANKS - 1], WEFT_MEETING_DONE);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(weft_meeting_look(&meetings[i]), WEFT_MEETING_DONE);
        weft_meeting_leave(&meetings[i]);
    }
    weft_board_release(board);
}

/* No rank waits for the others' parts, but all learn of one that failed. */
static void each_does_his_part(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS], other;
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (int i = 0; i < RANKS; i++) {
        meetings[i] = enter(board, 3, i);
        weft_meeting_arrive(&meetings[i]);
    }
    weft_meeting_decide(&meetings[RANKS - 1], WEFT_MEETING_AGREED);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(weft_meeting_look(&meetings[i]), WEFT_MEETING_AGREED);
        assert_int_equal(weft_meeting_has_failed(&meetings[i]), i > 1);
        if (i == 1)
            weft_meeting_fail(&meetings[i]);
        weft_meeting_leave(&meetings[i]);
        assert_int_equal(weft_meeting_enter(board, 3 + WEFT_MEETINGS, RANKS, 0, &other),
                         i == RANKS - 1);
    }
    weft_board_release(board);
}

static weft_board_t *hand(uint32_t number, int worker, weft_meeting_t meetings[RANKS])
{
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (int i = 0; i < RANKS; i++) {
        meetings[i] = enter(board, number, i);
        weft_meeting_arrive(&meetings[i]);
    }
    assert_int_equal(weft_meeting_worker(&meetings[0]), -1);
    weft_meeting_note_worker(&meetings[worker]);
    assert_int_equal(weft_meeting_worker(&meetings[RANKS - 1]), worker);
    weft_meeting_hand(&meetings[RANKS - 1], worker);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(weft_meeting_look(&meetings[i]), WEFT_MEETING_HANDED);
        assert_int_equal(weft_meeting_is_deputy(&meetings[i]), i == worker);
        assert_int_equal(weft_meeting_give_up(&meetings[i]), WEFT_MEETING_HANDED);
    }
    return board;
}

/* Either the one that was asked takes the decision, or the one that asked takes it back. */
static void another_decides(void **state)
{
    (void)state;
    for (int taker = 1; taker < RANKS; taker += RANKS - 2) {
        weft_meeting_t meetings[RANKS];
        weft_board_t *board = hand(4, 1, meetings);
        assert_true(weft_meeting_take(&meetings[taker]));
        assert_false(weft_meeting_take(&meetings[RANKS - taker]));
        assert_int_equal(weft_meeting_look(&meetings[0]), WEFT_MEETING_GATHERED);
        /* one that was asked in vain is not asked again at once */
        for (int i = 0; i < 3; i++)
            assert_int_equal(weft_meeting_may_hand(&meetings[0]), taker == 1 || i == 2);
        weft_meeting_decide(&meetings[taker], WEFT_MEETING_DONE);
        for (int i = 0; i < RANKS; i++)
            weft_meeting_leave(&meetings[i]);
        weft_board_release(board);
    }
}

static bool all_but(const void *living, int member)
{
    return member != *(const int *)living;
}

/* As long as the one that asked lives, it may take the decision back; and as soon as the one that
 * was asked has taken it, only that one may work. */
static void deputies_die(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    int asked = 1, last = RANKS - 1, other = 2;
    weft_board_t *board = hand(4, asked, meetings);
    assert_true(weft_meeting_take(&meetings[asked]));
    weft_meeting_rest(&meetings[last]);
    assert_int_equal(weft_meeting_abandon(&meetings[other], all_but, &asked),
                     WEFT_MEETING_GATHERED);
    assert_int_equal(weft_meeting_abandon(&meetings[other], all_but, &last), WEFT_MEETING_LOST);
    weft_board_release(board);
    board = hand(4, asked, meetings);
    assert_int_equal(weft_meeting_abandon(&meetings[other], all_but, &other), WEFT_MEETING_LOST);
    assert_false(weft_meeting_take(&meetings[asked]));
    weft_board_release(board);
}

/* A rank that arrives after another has given up is told so; the slot is free once all that arrived
 * have left. */
static void off_is_off_for_all(void **state)
{
    (void)state;
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    weft_meeting_t first = enter(board, 0, 0), second = enter(board, 0, 1), other;
    assert_int_equal(weft_meeting_arrive(&first), WEFT_MEETING_OPEN);
    assert_int_equal(weft_meeting_give_up(&first), WEFT_MEETING_OFF);
    assert_int_equal(weft_meeting_arrive(&second), WEFT_MEETING_OFF);
    weft_meeting_leave(&first);
    assert_false(weft_meeting_enter(board, WEFT_MEETINGS, RANKS, 0, &other));
    weft_meeting_leave(&second);
    assert_true(weft_meeting_enter(board, WEFT_MEETINGS, RANKS, 0, &other));
    weft_board_release(board);
}

static void pass(weft_board_t *board, uint32_t number, int members)
{
    weft_meeting_t meeting = enter(board, number, 0);
    weft_meeting_arrive(&meeting);
    weft_meeting_give_up(&meeting);
    for (int i = 1; i < members; i++) {
        weft_meeting_t late = enter(board, number, i);
        weft_meeting_arrive(&late);
        weft_meeting_leave(&late);
    }
    weft_meeting_leave(&meeting);
}

/* Where some ranks never come, ever fewer meetings are held; where all come late, ranks wait
 * longer. */
static void learns(void **state)
{
    (void)state;
    int came = 0, came_late = 0;
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        if (weft_board_meets(board, number)) {
            pass(board, number, RANKS - 1);
            came++;
        }
    }
    assert_in_range(came, 1, 60);
    weft_board_release(board);

    board = weft_board_claim(CONTEXT + 2, 0);
    weft_meeting_t meeting;
    for (uint32_t number = 0; number < 40; number++) {
        came_late += weft_board_meets(board, number);
        pass(board, number, RANKS);
    }
    assert_int_equal(came_late, 40);
    meeting = enter(board, 40, 0);
    assert_in_range(weft_meeting_patience_ns(&meeting), 100000000, 2000000000);
    weft_board_release(board);
}

/* A meeting that is off because the members do not agree on how to work says nothing about how long
 * to wait: all have come in time. */
static void disagreement_is_no_lateness(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    int64_t before = 0;
    for (uint32_t number = 0; number < 40; number++) {
        assert_true(weft_board_meets(board, number));
        for (int i = 0; i < RANKS; i++) {
            meetings[i] = enter(board, number, i);
            weft_meeting_arrive(&meetings[i]);
        }
        before = before == 0 ? weft_meeting_patience_ns(&meetings[0]) : before;
        weft_meeting_decide(&meetings[RANKS - 1], WEFT_MEETING_OFF);
        for (int i = 0; i < RANKS; i++)
            weft_meeting_leave(&meetings[i]);
    }
    assert_int_equal(weft_meeting_patience_ns(&meetings[0]), before);
    weft_board_release(board);
}

static void boards_are_given_back(void **state)
{
    (void)state;
    weft_board_t *boards[WEFT_BOARDS];
    for (int i = 0; i < WEFT_BOARDS; i++) {
        boards[i] = weft_board_claim((uint32_t)(2 * i), i % 2);
        assert_non_null(boards[i]);
        assert_ptr_equal(weft_board_claim((uint32_t)(2 * i), i % 2), boards[i]);
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(boards[i], boards[j]);
    }
    assert_null(weft_board_claim(2 * WEFT_BOARDS, 0));
    weft_board_release(boards[3]);
    assert_null(weft_board_claim(2 * WEFT_BOARDS, 0));
    weft_board_release(boards[3]);
    assert_ptr_equal(weft_board_claim(2 * WEFT_BOARDS, 0), boards[3]);
}

/* ---- members that die ---- */

enum { DEAD = 1 };

static bool is_dead(const void *owner, int member)
{
    (void)owner;
    return member == DEAD;
}

static weft_meeting_state_t abandon(const weft_meeting_t *meeting)
{
    return weft_meeting_abandon(meeting, is_dead, NULL);
}

/* All arrive in this board, and `last` comes last. */
static void gather(weft_board_t *board, uint32_t number, int last, weft_meeting_t out[RANKS])
{
    for (int i = 0; i < RANKS; i++)
        out[i] = enter(board, number, i);
    for (int i = 0; i < RANKS; i++) {
        if (i != last)
            weft_meeting_arrive(&out[i]);
    }
    assert_int_equal(weft_meeting_arrive(&out[last]), WEFT_MEETING_GATHERED);
}

/* Where the one that decides is dead, the others end the meeting; a living one goes on. */
static void the_last_may_die(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    gather(board, 0, DEAD, meetings);
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_LOST);
    weft_meeting_decide(&meetings[DEAD], WEFT_MEETING_DONE);
    assert_int_equal(weft_meeting_look(&meetings[2]), WEFT_MEETING_LOST);
    gather(board, 1, 2, meetings);
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_GATHERED);
    weft_meeting_decide(&meetings[2], WEFT_MEETING_DONE);
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_DONE);
    meetings[0] = enter(board, 2, 0);
    weft_meeting_arrive(&meetings[0]);
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_OFF);
    weft_board_release(board);
}

/* Who waits too long for kernels learns whose has not been launched. */
static void a_kernel_may_be_lacking(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    gather(board, 0, 3, meetings);
    weft_meeting_decide(&meetings[3], WEFT_MEETING_AGREED);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(weft_meeting_lacking(&meetings[3]), i);
        weft_meeting_note_launch(&meetings[i]);
    }
    assert_int_equal(weft_meeting_lacking(&meetings[3]), -1);
    weft_board_release(board);
}

/* Nobody leaves while a living member works: it may write to the memory of all. */
static void a_part_may_be_missing(void **state)
{
    (void)state;
    weft_meeting_part_t part = WEFT_PART_DONE;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    gather(board, 0, 0, meetings);
    weft_meeting_decide(&meetings[0], WEFT_MEETING_SHARED);
    assert_int_equal(abandon(&meetings[3]), WEFT_MEETING_LOST);
    gather(board, 1, 0, meetings);
    weft_meeting_decide(&meetings[0], WEFT_MEETING_SHARED);
    weft_meeting_decide(&meetings[0], WEFT_MEETING_WORKING);
    for (int i = 0; i < RANKS; i++) {
        if (i == DEAD)
            continue;
        assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_WORKING);
        if (i % 2 == 0)
            weft_meeting_part_done(&meetings[i], WEFT_MEETING_WORKING, &part);
        else
            weft_meeting_refrain(&meetings[i]);
    }
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_LOST);
    gather(board, 2, 0, meetings);
    weft_meeting_decide(&meetings[0], WEFT_MEETING_AGREED);
    assert_int_equal(abandon(&meetings[0]), WEFT_MEETING_AGREED);
    weft_board_release(board);
}

/* Parts of one round or of two: the last member hears of the worst. A member that could not begin
 * is remembered on the board. */
static void the_worst_part_counts(void **state)
{
    (void)state;
    static const weft_meeting_part_t all[][2] = {{WEFT_PART_DONE, WEFT_PART_DONE},
                                                 {WEFT_PART_FAILED, WEFT_PART_NOT_BEGUN},
                                                 {WEFT_PART_NOT_BEGUN, WEFT_PART_DONE}};
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (uint32_t number = 0; number < 6; number++) {
        const weft_meeting_part_t *its = all[number / 2];
        gather(board, number, 0, meetings);
        for (int round = (int)(number % 2); round < 2; round++) {
            weft_meeting_state_t during = round == 0 ? WEFT_MEETING_SHARED : WEFT_MEETING_WORKING;
            weft_meeting_decide(&meetings[0], during);
            for (int i = 0; i < RANKS; i++) {
                bool is_last = i == RANKS - 1;
                weft_meeting_part_t part = round == 0 ? WEFT_PART_DONE : its[is_last];
                assert_int_equal(weft_meeting_part_done(&meetings[i], during, &part), is_last);
                assert_int_equal(part, round == 0 ? WEFT_PART_DONE : its[0]);
            }
        }
        assert_int_equal(weft_meeting_has_all_begun(&meetings[0]), number < 4);
        for (int i = 0; i < RANKS; i++)
            weft_meeting_leave(&meetings[i]);
    }
    weft_board_release(board);
}

/* The boards of a dead rank are free when all others have released them, and then all slots are
 * free; it does not matter how many others notice the death. */
static void boards_of_the_dead_are_released(void **state)
{
    (void)state;
    weft_meeting_t meetings[RANKS];
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    weft_meeting_place.rank = DEAD;
    assert_ptr_equal(weft_board_claim(CONTEXT, 0), board);
    weft_meeting_place.rank = 0;
    gather(board, 0, DEAD, meetings);
    weft_boards_release_of(DEAD);
    weft_boards_release_of(DEAD);
    assert_ptr_equal(weft_board_claim(CONTEXT, 0), board);
    weft_board_release(board);
    weft_board_release(board);
    assert_ptr_equal(weft_board_claim(CONTEXT, 0), board);
    gather(board, WEFT_MEETINGS, 0, meetings);
    weft_board_release(board);
}

/* ---- threads as ranks: some skip meetings, yet all agree on the outcome of each ---- */

enum { ABREAST = 16 }; /* meetings from one barrier to the next */

static unsigned char outcome[RANKS][NUMBERS];
static pthread_barrier_t abreast;

static weft_meeting_state_t attend(weft_board_t *board, uint32_t number, int member, unsigned *seed)
{
    weft_meeting_t meeting;
    int patience = rand_r(seed) % 4 == 0 ? rand_r(seed) % 50 : 5000;
    if (!weft_meeting_enter(board, number, RANKS, member, &meeting))
        return WEFT_MEETING_OFF;
    *(uint32_t *)weft_meeting_offer(&meeting, member) = number * RANKS + (uint32_t)member;
    weft_meeting_state_t now = weft_meeting_arrive(&meeting);
    if (now == WEFT_MEETING_GATHERED) {
        bool is_right = true;
        for (int i = 0; i < RANKS; i++)
            is_right &=
                *(uint32_t *)weft_meeting_offer(&meeting, i) == number * RANKS + (uint32_t)i;
        weft_meeting_decide(&meeting, !is_right         ? WEFT_MEETING_FAILED
                                      : number % 3 == 0 ? WEFT_MEETING_WORKING
                                                        : WEFT_MEETING_SHARED);
    }
    while ((now = weft_meeting_look(&meeting)) == WEFT_MEETING_OPEN ||
           now == WEFT_MEETING_GATHERED) {
        if (now == WEFT_MEETING_OPEN && patience-- == 0)
            weft_meeting_give_up(&meeting);
        sched_yield();
    }
    for (weft_meeting_state_t during = WEFT_MEETING_SHARED; during <= WEFT_MEETING_WORKING;
         during++) {
        if (now != during)
            continue;
        weft_meeting_part_t part = WEFT_PART_DONE;
        if (weft_meeting_part_done(&meeting, during, &part))
            weft_meeting_decide(&meeting,
                                part == WEFT_PART_DONE ? during + 1 : WEFT_MEETING_FAILED);
        while ((now = weft_meeting_look(&meeting)) == during)
            sched_yield();
    }
    weft_meeting_leave(&meeting);
    return now;
}

static void *be_rank(void *argument)
{
    int member = *(int *)argument;
    unsigned seed = (unsigned)member + 1;
    weft_board_t *board = weft_board_claim(CONTEXT, 0);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        if (number % ABREAST == 0)
            pthread_barrier_wait(&abreast);
        bool comes = rand_r(&seed) % 50 != 0;
        outcome[member][number] =
            (unsigned char)(comes ? attend(board, number, member, &seed) : WEFT_MEETING_OFF);
    }
    weft_board_release(board);
    return NULL;
}

static void all_agree(void **state)
{
    pthread_t threads[RANKS];
    int members[RANKS], done = 0;
    (void)state;
    assert_int_equal(pthread_barrier_init(&abreast, NULL, RANKS), 0);
    for (int i = 0; i < RANKS; i++) {
        members[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, be_rank, &members[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&abreast);
    for (int number = 0; number < NUMBERS; number++) {
        for (int i = 1; i < RANKS; i++)
            assert_int_equal(outcome[i][number], outcome[0][number]);
        assert_int_not_equal(outcome[0][number], WEFT_MEETING_FAILED);
        done += outcome[0][number] == WEFT_MEETING_DONE;
    }
    assert_in_range(done, 1, NUMBERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_decides, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(each_does_his_part, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(another_decides, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(deputies_die, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(off_is_off_for_all, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(learns, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(disagreement_is_no_lateness, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(boards_are_given_back, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(the_last_may_die, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(a_part_may_be_missing, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(the_worst_part_counts, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(a_kernel_may_be_lacking, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(boards_of_the_dead_are_released, open_boards, close_boards),
        cmocka_unit_test_setup_teardown(all_agree, open_boards, close_boards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
