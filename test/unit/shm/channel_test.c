/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel with both ends in one process: every packet arrives once, in order, complete; a full
 * channel refuses packets until there is room; numbers wrap. */
#include "base/config.h"
#include "shm/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    DATA_BYTES = 4096,
    LARGE_BYTES = 32 * DATA_BYTES,
    SLICE_BYTES = WEFT_SLICE_UNITS * WEFT_DATA_UNIT,
    PAGE = 4096,
    PACKET_MAX = DATA_BYTES / WEFT_CREDIT_SHARE,
    CELLS = 8,
    CELL_PACKET = WEFT_STORE_LONG, /* bytes of one that goes in a cell, of */
    CELL_ROUND = 8,                /* so many of which one goes in the ring */
};

static _Alignas(64) weft_slot_t ring[WEFT_SLOTS];
static weft_baton_t baton;
static weft_credit_t credit;
static _Alignas(64) char data[DATA_BYTES];
static _Alignas(PAGE) char large[LARGE_BYTES];
static char cells[CELLS * WEFT_CELL_BYTES];
static weft_cells_t sender_cells, receiver_cells;
static bool is_throttled;
static weft_channel_out_t out;
static weft_channel_in_t in;
static weft_slots_t sender, receiver;
static unsigned seed = 7;

static unsigned pick(unsigned below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % below;
}

/* A channel that has carried `packets` packets before. What is read is left dirty: so what comes
 * out right also shows that nothing is changed that is still needed. */
static void open_channel(uint32_t packets)
{
    weft_channel_t channel = {.credit = &credit,
                              .data = data,
                              .units = DATA_BYTES / WEFT_DATA_UNIT,
                              .large = large,
                              .large_units = LARGE_BYTES / WEFT_DATA_UNIT};
    weft_config.STORES = "auto";
    memset(ring, 0, sizeof(ring));
    memset(&credit, 0, sizeof(credit));
    weft_slots_open(
        &sender,
        (weft_slots_pair_t){.to = ring, .baton = &baton.slot, .baton_room = WEFT_BATON_PAYLOAD},
        false, NULL, 0);
    weft_slots_open(
        &receiver,
        (weft_slots_pair_t){.from = ring, .baton = &baton.slot, .baton_room = WEFT_BATON_PAYLOAD},
        true, NULL, 0);
    weft_cells_open(&sender_cells, NULL, 0, false);
    weft_cells_open(&receiver_cells, NULL, 0, true);
    weft_channel_out_init(&out, &channel, &sender, &sender_cells, &is_throttled);
    weft_channel_in_init(&in, &channel, &receiver, &receiver_cells);
    receiver.is_read_dirty = in.is_read_dirty = true; /* as on some processors */
    sender.sent = receiver.taken = receiver.told = packets;
    sender.limit = packets + WEFT_SLOTS;
    credit.slots = packets;
}

static void open_with_cells(void)
{
    open_channel(0);
    weft_cells_open(&sender_cells, cells, CELLS, false);
    weft_cells_open(&receiver_cells, cells, CELLS, true);
}

static bool send(uint32_t number, size_t bytes)
{
    char *to = weft_channel_reserve(&out, bytes);
    if (to == NULL)
        return false;
    memset(to, (int)(number & 0xff), bytes);
    weft_header_t header =
        weft_header((uint8_t)(number % 100 + 1), (uint32_t)bytes, number * 3, (int32_t)number - 5);
    weft_channel_publish(&out, header);
    return true;
}

static bool receive(uint32_t number)
{
    weft_header_t header;
    const void *payload;
    if (!weft_channel_peek(&in, &header, &payload))
        return false;
    assert_int_equal(header.kind, number % 100 + 1);
    assert_int_equal(header.context, number * 3);
    assert_int_equal(header.tag, (int32_t)number - 5);
    for (uint32_t i = 0; i < header.bytes; i++)
        assert_int_equal(((const unsigned char *)payload)[i], number & 0xff);
    weft_channel_take(&in, header.bytes);
    return true;
}

static void run_from(uint32_t packets)
{
    open_channel(packets);
    uint32_t sent = 0, received = 0;
    while (received < 20000) {
        for (unsigned burst = pick(100);
             burst > 0 && send(sent, pick(4) ? pick(60) : pick(PACKET_MAX + 1)); burst--)
            sent++;
        for (unsigned burst = pick(100); burst > 0 && receive(received); burst--)
            received++;
    }
    while (receive(received))
        received++;
    assert_int_equal(received, sent);
    assert_true(send(sent, PACKET_MAX)); /* an empty channel takes the largest packet */
}

static void test_in_order(void **state)
{
    (void)state;
    run_from(0);
}

static void test_wrap_of_numbers(void **state)
{
    (void)state;
    run_from(UINT32_MAX - 1000);
}

static void send_until_full(uint32_t *number)
{
    while (send(*number, PACKET_MAX))
        ++*number;
}

/* The sender changes over while packets lie in the small ring: they arrive all the same, and those
 * after them lie in the large one, more at a time than the small one could hold. */
static void test_large_ring(void **state)
{
    (void)state;
    uint32_t sent = 0, received = 0;
    open_channel(0);
    send_until_full(&sent);
    assert_int_equal(sent, DATA_BYTES / PACKET_MAX);
    assert_ptr_equal(out.channel.data, data);
    credit.lost_ns = INT64_MAX / 2;
    for (size_t slices = LARGE_BYTES / SLICE_BYTES; out.channel.large != NULL; slices--) {
        assert_true(slices > 0);
        weft_channel_refresh(&out);
    }
    send_until_full(&sent);
    assert_ptr_equal(out.channel.data, large);
    assert_int_equal(sent, WEFT_SLOTS);
    assert_ptr_equal(in.channel.data, data);
    while (receive(received))
        received++;
    assert_int_equal(received, sent);
    assert_ptr_equal(in.channel.data, large);
}

/* The same after some long packets, without any loss, and none of it a second time. */
static void test_large_ring_taken(void **state)
{
    (void)state;
    uint32_t sent = 0, received = 0;
    open_channel(0);
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGEST_FROM));
    out.wants_large = 1;
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGER));
    assert_true(weft_channel_lacks_large(&out, WEFT_STORE_LONGEST_FROM));
    out.wants_large = 2;
    out.is_near = true;
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGER - 1));
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGER));
    assert_true(weft_channel_lacks_large(&out, WEFT_STORE_LONGER));
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGER));
    out.wants_large = 1;
    send_until_full(&sent);
    assert_int_equal(sent, DATA_BYTES / PACKET_MAX);
    weft_channel_take_large(&out);
    assert_null(out.channel.large);
    assert_false(weft_channel_lacks_large(&out, WEFT_STORE_LONGEST_FROM));
    send_until_full(&sent);
    assert_int_equal(sent, WEFT_SLOTS);
    weft_channel_take_large(&out);
    while (receive(received))
        received++;
    assert_int_equal(received, sent);
    assert_ptr_equal(in.channel.data, large);
}

/* It touches pages only for as much as was lost, and the next slice when what the last one took is
 * lost again. */
static void test_much_lost(void **state)
{
    (void)state;
    open_channel(0);
    for (uint32_t slices = 0; out.channel.large != NULL; slices++) {
        int64_t needed_ns = out.enlarge_at_ns;
        credit.lost_ns = (unsigned long long)needed_ns - 1;
        weft_channel_refresh(&out);
        assert_int_equal(out.units_touched, slices * (SLICE_BYTES / WEFT_DATA_UNIT));
        credit.lost_ns = (unsigned long long)needed_ns;
        weft_channel_refresh(&out);
        assert_true(out.enlarge_at_ns > needed_ns);
    }
    assert_true(out.enlarge_at_ns > WEFT_ENLARGE_NS);
    assert_ptr_equal(out.channel.data, large);
}

/* As if each payload took `ns` to be filled in. */
static void fill_slowly(int packets, int64_t ns)
{
    for (int i = 0; i < packets; i++) {
        out.reserved_ns =
            weft_ring_loss_is_sample(&out.loss, WEFT_STORE_LONGER) ? weft_clock_ns() - ns : 0;
        weft_channel_is_filled(&out, WEFT_STORE_LONGER);
    }
}

/* What the sender alone loses is enough, and the receiver hears of it by the next packet. */
static void test_slow_sender(void **state)
{
    (void)state;
    open_channel(0);
    fill_slowly(4 * WEFT_PACKETS_A_SAMPLE, (int64_t)1 << 40);
    assert_true(out.lost_ns > WEFT_ENLARGE_NS);
    assert_true(send(0, 8));
    assert_true(receive(0));
    assert_true(in.is_slow);
    for (size_t slices = LARGE_BYTES / SLICE_BYTES; out.channel.large != NULL; slices--) {
        assert_true(slices > 0);
        weft_channel_prepare(&out);
    }
    assert_true(send(1, 8));
    assert_true(receive(1));
    assert_false(in.is_slow);
    assert_ptr_equal(in.channel.data, large);
}

static void test_no_large_ring(void **state)
{
    (void)state;
    open_channel(0);
    out.channel.large = NULL;
    credit.lost_ns = INT64_MAX / 2;
    uint32_t sent = 0;
    send_until_full(&sent);
    assert_int_equal(sent, DATA_BYTES / PACKET_MAX);
    assert_ptr_equal(out.channel.data, data);
}

static void test_full(void **state)
{
    (void)state;
    open_channel(0);
    for (uint32_t i = 0; i < WEFT_SLOTS; i++)
        assert_true(send(i, 8));
    assert_false(send(WEFT_SLOTS, 8));
    credit.is_throttled = 1;
    for (uint32_t i = 0; i < WEFT_SLOTS; i++)
        assert_true(receive(i));
    assert_true(send(WEFT_SLOTS, 8));
    assert_true(is_throttled);
}

/* The bytes that the baton takes once a long payload has gone through the ring, where cached data
 * have cost so much. */
static uint32_t baton_after(float ns_per_kib)
{
    out.stores[0].cached = ns_per_kib;
    weft_channel_allow_long_baton(&out);
    return sender.baton_most;
}

/* The baton takes long payloads once the cores are known to be near, and as long as they are. */
static void test_long_baton(void **state)
{
    enum { UNKNOWN, NEAR = 100, FAR = 600 };
    (void)state;
    open_channel(0);
    assert_int_equal(sender.baton_most, WEFT_BATON_SHORT);
    assert_int_equal(baton_after(UNKNOWN), WEFT_BATON_SHORT);
    assert_int_equal(baton_after(NEAR), WEFT_BATON_PAYLOAD);
    assert_int_equal(baton_after(FAR), WEFT_BATON_SHORT);
    assert_int_equal(baton_after(NEAR), WEFT_BATON_PAYLOAD);
}

/* Send a packet that is long enough for a cell; its first marks. */
static uint32_t send_long(unsigned char value)
{
    static char payload[CELL_PACKET];
    memset(payload, value, sizeof(payload));
    char *to = weft_channel_reserve(&out, CELL_PACKET);
    assert_non_null(to);
    weft_channel_store(&out, to, payload, CELL_PACKET);
    uint32_t marks = weft_channel_finish(&out, CELL_PACKET);
    sender.mark |= marks;
    weft_channel_publish(&out, weft_header(1, CELL_PACKET, 2, 3));
    sender.mark &= ~marks;
    return marks;
}

/* Takes a packet of `bytes` bytes that are all 7, the last one that was sent; returns how many of
 * its lines have changed. */
static size_t lines_left_dirty(size_t bytes)
{
    size_t dirty = 0;
    weft_header_t header;
    const void *payload;
    const char *slot = ring[receiver.taken % WEFT_SLOTS].payload;
    assert_true(weft_channel_peek(&in, &header, &payload));
    assert_int_equal(header.bytes, bytes);
    weft_channel_take(&in, bytes);
    for (size_t at = 0; bytes > WEFT_SLOT_PAYLOAD && at < bytes; at += WEFT_DATA_UNIT)
        dirty += ((const char *)payload)[at] != 7;
    return dirty + (slot[WEFT_SLOT_PAYLOAD - 1] == 0);
}

static size_t short_lines_left_dirty(size_t bytes)
{
    assert_true(send(7, bytes));
    return lines_left_dirty(bytes);
}

static size_t long_lines_left_dirty(weft_store_t way)
{
    out.stores[0] = (weft_store_choice_t){.way = way};
    send_long(7);
    return lines_left_dirty(CELL_PACKET);
}

/* The slot of each packet and all lines of a short payload in the small ring, and those of a long
 * one that is stored so. */
static void test_dirty_reads(void **state)
{
    (void)state;
    open_channel(0);
    memset(ring, 7, sizeof(ring)); /* of an earlier lap */
    assert_int_equal(short_lines_left_dirty(WEFT_SLOT_PAYLOAD), 1);
    assert_int_equal(short_lines_left_dirty(WEFT_SLOT_PAYLOAD + 1), 2);
    assert_int_equal(short_lines_left_dirty(WEFT_DATA_UNIT), 2);
    assert_int_equal(short_lines_left_dirty(WEFT_DATA_UNIT + 1), 3);
    assert_int_equal(short_lines_left_dirty(WEFT_STORE_LONG - 1), 33);
    assert_int_equal(long_lines_left_dirty(WEFT_STORE_CACHED), 1);
    assert_int_equal(long_lines_left_dirty(WEFT_STORE_DIRTY), 1 + CELL_PACKET / WEFT_DATA_UNIT);
    assert_int_equal(long_lines_left_dirty(WEFT_STORE_CACHED), 1);
    for (int i = 0; i < 1000; i++) { /* none of the next packet, wherever the ring begins again */
        size_t bytes = 65 + pick(PACKET_MAX - 64);
        assert_int_equal(short_lines_left_dirty(bytes), 1 + (bytes + 63) / 64);
        assert_int_equal(long_lines_left_dirty(WEFT_STORE_DIRTY), 1 + CELL_PACKET / WEFT_DATA_UNIT);
        assert_true(send(8, bytes) && send(9, 100));
        assert_true(receive(8) && receive(9));
    }
    credit.lost_ns = INT64_MAX / 2;
    while (out.channel.large != NULL)
        weft_channel_prepare(&out);
    assert_int_equal(short_lines_left_dirty(1000), 1);
    open_channel(0);
    receiver.is_read_dirty = in.is_read_dirty = false; /* as on others */
    memset(ring, 7, sizeof(ring));
    assert_int_equal(short_lines_left_dirty(WEFT_SLOT_PAYLOAD), 0);
    assert_int_equal(short_lines_left_dirty(1000), 0);
    assert_int_equal(long_lines_left_dirty(WEFT_STORE_DIRTY), CELL_PACKET / WEFT_DATA_UNIT);
}

static bool is_fresh; /* the packet that was received last */

/* Receive it; where it lay. */
static const char *receive_long(unsigned char value)
{
    weft_header_t header;
    const void *payload, *again;
    assert_true(weft_channel_peek(&in, &header, &payload));
    assert_true(weft_channel_peek(&in, &header, &again)); /* as who leaves it to another does */
    assert_ptr_equal(payload, again);
    assert_int_equal(header.bytes, CELL_PACKET);
    is_fresh = weft_channel_is_fresh(&in, CELL_PACKET);
    for (int i = 0; i < CELL_PACKET; i++)
        assert_int_equal(((const unsigned char *)payload)[i], value);
    weft_channel_take(&in, header.bytes);
    return payload;
}

static bool is_cell(const char *payload)
{
    return payload >= cells && payload < cells + sizeof(cells);
}

/* Each cell is sent once, then packets go in the ring; the receiver owns all cells. */
static void test_cells_pass(void **state)
{
    (void)state;
    open_with_cells();
    int in_cells = 0;
    for (int i = 0; i < CELL_ROUND; i++) {
        bool is_marked = (send_long((unsigned char)i) & WEFT_IN_CELL) != 0;
        const char *payload = receive_long((unsigned char)i);
        assert_int_equal(is_cell(payload), is_marked);
        in_cells += is_marked;
    }
    assert_int_equal(in_cells, CELLS / 2);
    assert_int_equal(sender_cells.count, 0);
    assert_int_equal(receiver_cells.count, CELLS);
    assert_false(is_cell((send_long(9), receive_long(9))));
}

/* While there are cells, one packet in some goes in the ring, so that it shows where the cores are;
 * those that lie in cells take none of the ring's room. */
static void test_cells_in_turns(void **state)
{
    (void)state;
    open_with_cells();
    int in_ring = 0;
    for (int i = 0; i < 4 * CELL_ROUND; i++) {
        uint32_t units = out.units_sent;
        bool is_marked = (send_long((unsigned char)i) & WEFT_IN_CELL) != 0;
        const char *payload = receive_long((unsigned char)i);
        assert_int_equal(out.units_sent == units, is_marked);
        in_ring += !is_marked;
        if (is_marked) { /* the answer brings the cell back */
            unsigned cell = weft_cells_next(&receiver_cells);
            assert_ptr_equal(weft_cells_at(&receiver_cells, cell), payload);
            weft_cells_pass(&receiver_cells);
            weft_cells_take(&sender_cells, cell);
        }
    }
    assert_int_equal(in_ring, 4);
    assert_int_equal(sender_cells.count, CELLS / 2);
}

/* The longest packets find cells between far cores only where those are preferred, and as long as
 * there are some. */
static void test_cells_are_preferred(void **state)
{
    (void)state;
    open_with_cells();
    assert_false(weft_channel_has_cells(&out, 1, WEFT_CELL_BYTES));
    assert_true(weft_channel_has_cells(&out, CELLS / 2, CELL_PACKET));
    weft_channel_prefer_cells(&out);
    assert_true(weft_channel_has_cells(&out, CELLS / 2, WEFT_CELL_BYTES));
    assert_false(weft_channel_has_cells(&out, CELLS / 2 + 1, WEFT_CELL_BYTES));
    assert_int_equal(send_long(1) & WEFT_IN_CELL, WEFT_IN_CELL);
    assert_false(weft_channel_has_cells(&out, CELLS / 2, WEFT_CELL_BYTES));
}

/* What lies in pages that nobody has touched before: of a cell once, of a ring in the first lap. */
static void test_fresh_pages(void **state)
{
    enum { A_LAP = DATA_BYTES / CELL_PACKET };
    (void)state;
    open_with_cells();
    assert_int_equal(send_long(1) & WEFT_IN_CELL, WEFT_IN_CELL);
    assert_true(is_cell(receive_long(1)));
    assert_true(is_fresh);
    unsigned cell = weft_cells_next(&receiver_cells); /* comes back */
    weft_cells_pass(&receiver_cells);
    weft_cells_take(&sender_cells, cell);
    assert_int_equal(send_long(2) & WEFT_IN_CELL, WEFT_IN_CELL);
    assert_true(is_cell(receive_long(2)));
    assert_false(is_fresh);
    open_channel(0); /* without cells */
    for (int i = 0; i < 2 * A_LAP; i++) {
        send_long(3);
        receive_long(3);
        assert_int_equal(is_fresh, i < A_LAP);
    }
}

static void test_baton_is_not_fresh(void **state)
{
    static const char payload[CELL_PACKET];
    weft_header_t header;
    const void *at;
    (void)state;
    open_channel(0);
    weft_slots_allow(&sender, WEFT_BATON_PAYLOAD);
    sender.has_baton = true;
    receiver.has_baton = false;
    sender.room = WEFT_BATON_PAYLOAD;
    weft_slots_put_long(&sender, weft_header(1, CELL_PACKET, 2, 3), payload);
    assert_true(weft_channel_peek(&in, &header, &at));
    assert_ptr_equal(at, baton.slot.payload);
    assert_false(weft_channel_is_fresh(&in, CELL_PACKET));
}

/* Where WEFT_STORES says how data are stored, all go in the ring. */
static void test_no_cells(void **state)
{
    (void)state;
    open_with_cells();
    weft_channel_t channel = out.channel;
    weft_config.STORES = "cached";
    weft_channel_out_init(&out, &channel, &sender, &sender_cells, &is_throttled);
    assert_int_equal(send_long(1) & WEFT_IN_CELL, 0);
    assert_false(is_cell(receive_long(1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_wrap_of_numbers),
        cmocka_unit_test(test_large_ring),
        cmocka_unit_test(test_much_lost),
        cmocka_unit_test(test_slow_sender),
        cmocka_unit_test(test_no_large_ring),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_dirty_reads),
        cmocka_unit_test(test_long_baton),
        cmocka_unit_test(test_large_ring_taken),
        cmocka_unit_test(test_cells_pass),
        cmocka_unit_test(test_cells_in_turns),
        cmocka_unit_test(test_cells_are_preferred),
        cmocka_unit_test(test_no_cells),
        cmocka_unit_test(test_fresh_pages),
        cmocka_unit_test(test_baton_is_not_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
