/* SPDX-License-Identifier: BSD-3-Clause */
/* Both members of a wall, in one process: their exchanges lie in swaps, in the one that the other's
 * data were in before; nothing is written over before it has been read. */
#include "coll/wall/wall.h"
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 2, RING = 65536, LONG = WEFT_SWAP_FROM, ROUNDS = 100 };

static weft_wall_t *walls[MEMBERS];
static weft_doorbell_t doorbells[MEMBERS];

static weft_wall_t *make_wall(int rank)
{
    weft_wall_t *wall = calloc(1, sizeof *wall + MEMBERS * sizeof wall->members[0]);
    assert_non_null(wall);
    wall->size = MEMBERS;
    wall->rank = rank;
    wall->is_trying = true;
    wall->chunk = RING / WEFT_WALL_CHUNKS;
    wall->ring_bytes = RING;
    for (int i = 0; i < MEMBERS; i++)
        wall->members[i] = (weft_wall_member_t){.strip = weft_wall_strip(0, i),
                                                .ring = weft_wall_ring(0, i),
                                                .swap = weft_wall_swap(0, i),
                                                .doorbell = &doorbells[i]};
    wall->strip = weft_wall_strip(0, rank);
    wall->ring = weft_wall_ring(0, rank);
    weft_wall_store_open(wall);
    weft_wall_swaps_open(wall);
    return wall;
}

static int open_walls(void **state)
{
    (void)state;
    weft_config.STORES = "auto";
    weft_wall_place.ranks = MEMBERS;
    weft_wall_place.ring_bytes = RING;
    weft_wall_place.memory = aligned_alloc(4096, weft_walls_bytes(MEMBERS, RING));
    assert_non_null(weft_wall_place.memory);
    memset(weft_wall_place.memory, 0, weft_walls_bytes(MEMBERS, RING));
    for (int i = 0; i < MEMBERS; i++)
        walls[i] = make_wall(i);
    return 0;
}

static int close_walls(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        free(walls[i]);
    free(weft_wall_place.memory);
    return 0;
}

static void begin(int rank, weft_coll_t coll, size_t bytes)
{
    walls[rank]->stamp = (uint64_t)coll << WEFT_STAMP_SHIFT | bytes;
}

/* A post of `bytes` bytes of this value; where they lie, NULL: there is no room yet. */
static char *post(int rank, size_t bytes, unsigned char value)
{
    static char data[WEFT_SWAP_BYTES];
    weft_wall_t *wall = walls[rank];
    memset(data, value, bytes);
    char *room = weft_wall_room(wall, bytes);
    if (room == NULL)
        return NULL;
    weft_wall_copy_in(wall, room, data, bytes);
    weft_wall_post(wall);
    return room;
}

/* Where the other member's data lie, which have this value. */
static const char *take(int rank, size_t bytes, unsigned char value)
{
    const char *data = weft_wall_data(walls[rank], 1 - rank, bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal((unsigned char)data[i], value);
    return data;
}

static unsigned char value_of(int rank, int round)
{
    return (unsigned char)(2 * round + rank);
}

/* A collective that all begin, of one post each. */
static void exchange(weft_coll_t coll, size_t bytes, int round, char *rooms[MEMBERS])
{
    for (int i = 0; i < MEMBERS; i++) {
        begin(i, coll, bytes);
        rooms[i] = post(i, bytes, value_of(i, round));
        assert_non_null(rooms[i]);
    }
    for (int i = 0; i < MEMBERS; i++)
        assert_ptr_equal(take(i, bytes, value_of(1 - i, round)), rooms[1 - i]);
}

static bool is_swap(const char *room)
{
    const char *swaps = weft_wall_swap(0, 0);
    return room >= swaps && room < swaps + WEFT_WALLS * MEMBERS * WEFT_SWAPS * WEFT_SWAP_BYTES;
}

static void data_go_where_the_others_were(void **state)
{
    char *rooms[ROUNDS][MEMBERS];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        exchange(round % 2 ? WEFT_ALLREDUCE : WEFT_ALLGATHER, LONG + 64 * (size_t)round, round,
                 rooms[round]);
        for (int i = 0; i < MEMBERS; i++) {
            assert_true(is_swap(rooms[round][i]));
            if (round >= 1)
                assert_ptr_not_equal(rooms[round][i], rooms[round - 1][1 - i]);
            if (round >= 2)
                assert_ptr_equal(rooms[round][i], rooms[round - 2][1 - i]);
        }
    }
}

/* What is no exchange, or short, lies elsewhere, and changes nothing. */
static void other_calls_lie_elsewhere(void **state)
{
    char *before[MEMBERS], *between[MEMBERS], *first[MEMBERS], *rooms[MEMBERS];
    (void)state;
    exchange(WEFT_ALLTOALL, LONG, 1, first);
    exchange(WEFT_ALLTOALL, LONG, 2, before);
    for (int round = 3; round < 10; round++) {
        exchange(WEFT_BCAST, LONG, round, between);
        assert_false(is_swap(between[0]));
        exchange(WEFT_ALLTOALL, LONG - 1, round, between);
        assert_false(is_swap(between[0]));
        exchange(WEFT_ALLREDUCE, 8, round, between);
        assert_false(is_swap(between[0]));
        exchange(WEFT_REDUCE_SCATTER, LONG, round, between);
        assert_false(is_swap(between[0]));
    }
    exchange(WEFT_ALLTOALL, LONG, 10, rooms);
    assert_ptr_equal(rooms[0], first[1]);
    exchange(WEFT_ALLTOALL, LONG, 11, rooms);
    assert_ptr_equal(rooms[0], before[1]);
}

/* A member that waits for nobody is held up before it writes over what the other has not read. */
static void nobody_runs_too_far_ahead(void **state)
{
    enum { AHEAD = WEFT_SWAPS };
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        begin(i, WEFT_ALLGATHERV, LONG);
    for (int round = 0; round < AHEAD; round++)
        assert_non_null(post(0, LONG, value_of(0, round)));
    assert_null(post(0, LONG, value_of(0, AHEAD)));
    for (int round = 0; round < AHEAD; round++) {
        assert_non_null(post(1, LONG, value_of(1, round)));
        assert_non_null(post(0, LONG, value_of(0, AHEAD + round)));
        assert_null(post(0, LONG, 0));
        const weft_post_t *its = &walls[0]->strip->posts[walls[1]->number % WEFT_WALL_POSTS];
        const char *data = (const char *)((uintptr_t)walls[0]->ring + its->offset);
        assert_int_equal((unsigned char)data[0], value_of(0, round));
        assert_int_equal((unsigned char)data[LONG - 1], value_of(0, round));
    }
}

/* Both count a post that is too long, or short, in a call of many bytes. */
static void both_count_alike(void **state)
{
    char *rooms[MEMBERS];
    (void)state;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MEMBERS; i++)
            begin(i, WEFT_ALLGATHERV, LONG);
        assert_non_null(post(round % 2, 16, 1));
        assert_true(is_swap(post(1 - round % 2, LONG, 2)));
        take(round % 2, LONG, 2);
        assert_int_equal(walls[0]->swaps.count, walls[1]->swaps.count);
        exchange(WEFT_ALLGATHER, LONG, round, rooms);
    }
}

static void stores_that_are_chosen_use_the_ring(void **state)
{
    char *rooms[MEMBERS];
    weft_config.STORES = "cached";
    for (int i = 0; i < MEMBERS; i++) {
        free(walls[i]);
        walls[i] = make_wall(i);
    }
    exchange(WEFT_ALLGATHER, LONG, 1, rooms);
    assert_false(is_swap(rooms[0]));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(data_go_where_the_others_were, open_walls, close_walls),
        cmocka_unit_test_setup_teardown(other_calls_lie_elsewhere, open_walls, close_walls),
        cmocka_unit_test_setup_teardown(nobody_runs_too_far_ahead, open_walls, close_walls),
        cmocka_unit_test_setup_teardown(both_count_alike, open_walls, close_walls),
        cmocka_unit_test_setup_teardown(stores_that_are_chosen_use_the_ring, open_walls,
                                        close_walls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
