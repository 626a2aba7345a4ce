/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots with both ends in one process: packets arrive once, in order, complete, through the rings
 * and the baton; the baton passes with each answer, and a full ring refuses packets. */
#include "runtime/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static weft_slot_t rings[2][WEFT_SLOTS];
static weft_baton_t baton;
static weft_slots_t ends[2];
static uint32_t sent[2], received[2];
static unsigned seed = 3;

static unsigned pick(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % below;
}

/* Slots that have carried `packets` packets each way before. */
static void open_slots(uint32_t packets)
{
    memset(rings, 0, sizeof(rings));
    memset(&baton, 0, sizeof(baton));
    for (int i = 0; i < 2; i++) {
        weft_slots_pair_t pair = {.to = rings[i],
                                  .from = rings[1 - i],
                                  .baton = &baton.slot,
                                  .baton_room = WEFT_BATON_PAYLOAD};
        weft_slots_open(&ends[i], pair, i == 1, NULL, 0);
        ends[i].sent = ends[i].taken = ends[i].told = packets;
        ends[i].limit = packets + WEFT_SLOTS;
        sent[i] = received[i] = 0;
    }
}

/* False: there is no room. */
static bool put(weft_slots_t *slots, weft_header_t header, const void *payload)
{
    if (!weft_slots_have_room(slots, header.bytes))
        return false;
    if (header.bytes <= WEFT_COPY_SMALL)
        weft_slots_put_small(slots, header, payload);
    else
        weft_slots_put_long(slots, header, payload);
    return true;
}

/* A packet whose contents follow from its number and its sender. */
static weft_header_t header_of(int from, uint32_t number)
{
    return weft_header((uint8_t)(1 + number % (WEFT_SLOT_KINDS - 1)),
                       number * 7 % (WEFT_SLOT_PAYLOAD + 1), number * 3 + (uint32_t)from,
                       (int32_t)number - 5);
}

static bool send(int from)
{
    char payload[WEFT_BATON_PAYLOAD];
    memset(payload, (int)(sent[from] + 100 * (uint32_t)from), sizeof(payload));
    bool is_out = put(&ends[from], header_of(from, sent[from]), payload);
    sent[from] += is_out;
    return is_out;
}

/* Returns the slot; NULL: nothing has come. Tells the sender of each packet. */
static const weft_slot_t *receive(int to)
{
    uint64_t first;
    const weft_slot_t *slot = weft_slots_next(&ends[to], &first);
    if (slot == NULL)
        return NULL;
    uint32_t number = received[to]++;
    weft_header_t header = weft_slots_header(&ends[to], slot, first),
                  expected = header_of(1 - to, number);
    assert_int_equal(header.kind, expected.kind);
    assert_int_equal(header.bytes, expected.bytes);
    assert_int_equal(header.context, expected.context);
    assert_int_equal(header.tag, expected.tag);
    for (uint32_t i = 0; i < header.bytes; i++)
        assert_int_equal((unsigned char)slot->payload[i],
                         (unsigned char)(number + 100 * (uint32_t)(1 - to)));
    assert_true(weft_slots_hold(&ends[to], slot, header.bytes));
    weft_slots_take(&ends[to], slot, header.bytes);
    ends[1 - to].limit = ends[to].taken + WEFT_SLOTS;
    return slot;
}

static void answers_pass_the_baton(void **state)
{
    (void)state;
    open_slots(0);
    for (int i = 0; i < 1000; i++) {
        assert_true(send(0));
        assert_ptr_equal(receive(1), &baton.slot);
        assert_null(receive(1));
        assert_true(send(1));
        assert_ptr_equal(receive(0), &baton.slot);
        assert_null(receive(0));
    }
}

/* Only the baton takes more than a slot's payload. */
static void the_baton_takes_long_packets(void **state)
{
    static const char payload[WEFT_BATON_PAYLOAD + 1] = {1, 2, 3, [WEFT_BATON_PAYLOAD - 1] = 4};
    (void)state;
    open_slots(0);
    for (uint32_t bytes = WEFT_SLOT_PAYLOAD + 1; bytes < 2 * WEFT_SLOT_PAYLOAD; bytes++)
        assert_false(put(&ends[1], weft_header(1, bytes, 2, 3), payload));
    assert_false(put(&ends[0], weft_header(1, WEFT_BATON_SHORT + 1, 2, 3), payload));
    weft_slots_allow(&ends[0], WEFT_BATON_PAYLOAD); /* the cores are near */
    assert_false(put(&ends[0], weft_header(1, WEFT_BATON_PAYLOAD + 1, 2, 3), payload));
    assert_true(put(&ends[0], weft_header(1, WEFT_BATON_PAYLOAD, 2, 3), payload));
    uint64_t first;
    const weft_slot_t *slot = weft_slots_next(&ends[1], &first);
    assert_ptr_equal(slot, &baton.slot);
    assert_int_equal(weft_slots_header(&ends[1], slot, first).bytes, WEFT_BATON_PAYLOAD);
    assert_true(weft_slots_hold(&ends[1], slot, WEFT_BATON_PAYLOAD));
    assert_memory_equal((const char *)&baton + offsetof(weft_slot_t, payload), payload,
                        WEFT_BATON_PAYLOAD);
    weft_slots_take(&ends[1], slot, WEFT_BATON_PAYLOAD);
    assert_true(ends[1].has_baton);
}

/* Back and forth; returns how many went in the baton before one was refused. */
static int pass_until_refused(uint32_t bytes, int most)
{
    static const char payload[WEFT_BATON_PAYLOAD];
    for (int i = 0; i < most; i++) {
        uint64_t first;
        if (!put(&ends[i % 2], weft_header(1, bytes, 2, 3), payload))
            return i;
        const weft_slot_t *slot = weft_slots_next(&ends[1 - i % 2], &first);
        assert_ptr_equal(slot, &baton.slot);
        weft_slots_take(&ends[1 - i % 2], slot, bytes);
        ends[i % 2].limit++;
    }
    return most;
}

/* So the transport can measure it. */
static void a_long_packet_goes_elsewhere_now_and_then(void **state)
{
    enum { SHORT = 1000 };
    (void)state;
    open_slots(0);
    assert_int_equal(pass_until_refused(WEFT_BATON_SHORT, SHORT), SHORT);
    for (int i = 0; i < 3; i++) {
        weft_slots_allow(&ends[0], WEFT_BATON_PAYLOAD);
        weft_slots_allow(&ends[1], WEFT_BATON_PAYLOAD);
        assert_int_equal(pass_until_refused(WEFT_BATON_SHORT + 1, SHORT), 2 * WEFT_BATON_LONG);
        assert_int_equal(ends[0].baton_most, WEFT_BATON_SHORT);
        assert_int_equal(pass_until_refused(WEFT_BATON_SHORT, SHORT), SHORT);
    }
}

/* Who gets short answers has lost the further lines of the baton to the other one. */
static void long_packets_go_elsewhere_after_a_short_answer(void **state)
{
    (void)state;
    open_slots(0);
    for (int i = 0; i < 2; i++)
        weft_slots_allow(&ends[i], WEFT_BATON_PAYLOAD);
    assert_int_equal(pass_until_refused(WEFT_BATON_SHORT + 1, 2), 2); /* there and back */
    assert_int_equal(ends[0].room, WEFT_BATON_PAYLOAD);
    assert_int_equal(pass_until_refused(WEFT_BATON_SHORT, 2), 2);
    assert_int_equal(ends[0].room, WEFT_BATON_SHORT);
    assert_int_equal(pass_until_refused(WEFT_BATON_SHORT + 1, 2), 0);
}

static void who_has_passed_it_uses_the_ring(void **state)
{
    (void)state;
    open_slots(0);
    assert_true(send(0) && send(0) && send(0)); /* the lower rank has it at first */
    assert_ptr_equal(receive(1), &baton.slot);
    for (int i = 1; i < 3; i++)
        assert_ptr_equal(receive(1), &rings[0][i]);
    assert_true(send(1) && send(1));
    assert_ptr_equal(receive(0), &baton.slot);
    assert_ptr_equal(receive(0), &rings[1][1]);
}

/* Packets that cross: who gets the baton keeps it, and tries again later. */
static void it_rests_where_both_send_at_once(void **state)
{
    int passed = 0;
    (void)state;
    open_slots(0);
    for (int i = 0; i < 1000; i++) {
        assert_true(send(0) && send(1));
        passed += receive(0) == &baton.slot;
        passed += receive(1) == &baton.slot;
    }
    assert_in_range(passed, 1000 / (WEFT_BATON_KEPT + 1), 1 + 1000 / WEFT_BATON_KEPT);
}

static void a_full_ring_refuses(void **state)
{
    (void)state;
    open_slots(0);
    while (send(0))
        ;
    assert_int_equal(sent[0], WEFT_SLOTS);
    assert_non_null(receive(1));
    assert_true(send(0));
    assert_false(send(0));
}

static void run_from(uint32_t packets)
{
    open_slots(packets);
    for (int i = 0; i < 20000; i++) {
        int end = (int)pick(2);
        for (unsigned burst = pick(80); burst > 0 && send(end); burst--)
            ;
        end = (int)pick(2);
        for (unsigned burst = pick(80); burst > 0 && receive(end) != NULL; burst--)
            ;
    }
    for (int end = 0; end < 2; end++) {
        while (receive(end) != NULL)
            ;
        assert_int_equal(received[end], sent[1 - end]);
        assert_true(sent[end] > 10000);
    }
    assert_true(ends[0].has_baton != ends[1].has_baton);
}

static void all_arrive_in_order(void **state)
{
    (void)state;
    run_from(0);
}

static void numbers_wrap(void **state)
{
    (void)state;
    run_from(UINT32_MAX - 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_pass_the_baton),
        cmocka_unit_test(long_packets_go_elsewhere_after_a_short_answer),
        cmocka_unit_test(the_baton_takes_long_packets),
        cmocka_unit_test(a_long_packet_goes_elsewhere_now_and_then),
        cmocka_unit_test(who_has_passed_it_uses_the_ring),
        cmocka_unit_test(it_rests_where_both_send_at_once),
        cmocka_unit_test(a_full_ring_refuses),
        cmocka_unit_test(all_arrive_in_order),
        cmocka_unit_test(numbers_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
