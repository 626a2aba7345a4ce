/* SPDX-License-Identifier: BSD-3-Clause */
/* Each loss is told once, when that is allowed; a peer that must ask first is told when there is
 * room. */
#include "net/net_peer.h"

#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

static weft_net_peers_t peers;
static weft_net_peer_t ranks[RANKS];
static int told[RANKS], held_back = -1, loses_too = -1;

static void note_lost(int process, const char *why)
{
    assert_string_equal(why, "a reason");
    told[process]++;
    if (loses_too >= 0) {
        int next = loses_too;
        loses_too = -1;
        weft_net_peer_lose(&peers, &ranks[next], "a reason");
    }
}

static bool is_not_held_back(const weft_net_peer_t *peer)
{
    return peer->process != held_back;
}

static int set_up(void **state)
{
    (void)state;
    weft_world.size = RANKS;
    if (weft_processes_open(RANKS, 0) != MPI_SUCCESS)
        return 1;
    weft_world.peer_lost = note_lost;
    memset(told, 0, sizeof(told));
    if (weft_net_peers_open(&peers) != MPI_SUCCESS)
        return 1;
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (weft_net_peer_t){.process = i};
        peers.at[i] = &ranks[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_net_peers_close(&peers);
    weft_processes_close();
    return weft_memory_in_use() != 0;
}

static void losses_are_told_once(void **state)
{
    (void)state;
    loses_too = 3;
    weft_net_peer_lose(&peers, &ranks[1], "a reason");
    assert_int_equal(weft_net_peer_check(&ranks[1]), MPI_ERR_OTHER);
    assert_string_equal(weft_fail_text(), "a reason");
    assert_int_equal(weft_net_peer_check(&ranks[2]), MPI_SUCCESS);
    weft_net_tell_lost(&peers, is_not_held_back);
    weft_net_tell_lost(&peers, is_not_held_back);
    assert_int_equal(told[1], 1);
    assert_int_equal(told[3], 1); /* lost while the first loss was told */
    assert_int_equal(told[2], 0);
    assert_int_equal(weft_net_peer_check(&ranks[1]), MPI_SUCCESS); /* the layer above knows */
}

static void some_are_told_later(void **state)
{
    (void)state;
    held_back = 2;
    for (int i = 1; i < RANKS; i++)
        weft_net_peer_lose(&peers, &ranks[i], "a reason");
    weft_net_tell_lost(&peers, is_not_held_back);
    assert_int_equal(told[1] + told[3], 2);
    assert_int_equal(told[2], 0);
    assert_non_null(peers.lost);
    held_back = -1;
    weft_net_tell_lost(&peers, is_not_held_back);
    assert_int_equal(told[2], 1);
    assert_null(peers.lost);
}

/* The text of a loss that was not told is released with the table. */
static void at_the_end_none_is_told(void **state)
{
    (void)state;
    weft_net_peer_lose(&peers, &ranks[1], "a reason");
    peers.is_closing = true;
    weft_net_peer_lose(&peers, &ranks[2], "a reason");
    assert_int_equal(weft_net_peer_check(&ranks[2]), MPI_SUCCESS);
}

static int has_room, last_kind;

static bool send_if_room(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    (void)endpoint;
    (void)payload;
    last_kind = has_room ? header.kind : 0;
    return has_room;
}

static void throttling_is_told_when_there_is_room(void **state)
{
    weft_net_peer_t *peer = &ranks[1];
    (void)state;
    assert_false(weft_net_must_tell_throttle(peer));
    peer->throttles = true;
    assert_false(weft_net_tell_throttle(peer, send_if_room));
    assert_true(weft_net_must_tell_throttle(peer));
    has_room = 1;
    assert_true(weft_net_tell_throttle(peer, send_if_room));
    assert_int_equal(last_kind, WEFT_WIRE_THROTTLE);
    assert_false(weft_net_must_tell_throttle(peer));
    peer->throttles = false;
    assert_true(weft_net_tell_throttle(peer, send_if_room));
    assert_int_equal(last_kind, WEFT_WIRE_RELEASE);
    weft_net_take_throttle(peer, WEFT_WIRE_THROTTLE);
    assert_true(peer->endpoint.is_throttled);
    weft_net_take_throttle(peer, WEFT_WIRE_RELEASE);
    assert_false(peer->endpoint.is_throttled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(losses_are_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(some_are_told_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_the_end_none_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(throttling_is_told_when_there_is_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
