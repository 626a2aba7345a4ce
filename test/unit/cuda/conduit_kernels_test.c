/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges that are counted on the device: the same arguments are launched again and again, as a
 * graph does, and each launch must wait for the data of its own. When one fails, all later ones of
 * all members end.
 */
#include "cuda/partner_kernels.h"

enum { ROW = 4096, PART = 2 * MOST_MEMBERS * ROW, HEAD = 64, COUNT = 200, LAUNCHES = 9 };

static _Alignas(64) unsigned char inboxes[MOST_MEMBERS][HEAD + 2 * PART];
static uint32_t operands[MOST_MEMBERS][COUNT], results[MOST_MEMBERS][COUNT];

static weft_conduit_head_t *head_of(uint32_t member)
{
    return (weft_conduit_head_t *)(void *)inboxes[member];
}

/* `bytes` 0: no member gives or gets anything. root: the one that gives; below 0: all do, and the
 * operands are combined. */
static void prepare(uint32_t members, uint32_t self, int root, uint32_t bytes)
{
    weft_exchange_args_t *args = &calls[self].args.exchange;
    weft_kernel_t kernel = weft_exchange_kernel(WEFT_KERNEL_reduce_sum_U32);
    *args = (weft_exchange_args_t){.members = members,
                                   .member = self,
                                   .number = 77,
                                   .watch = device_address(watch[self]),
                                   .conduit = device_address(inboxes[self]),
                                   .even = PART,
                                   .head = HEAD + self * ROW};
    for (uint32_t i = 0; i < members; i++) {
        bool gives = root < 0 || (root == (int)self && i != self);
        bool gets = root < 0 ? i == self : root == (int)i && i != self;
        args->side[i] =
            (weft_exchange_side_t){.outbox = device_address(inboxes[i] + HEAD + self * ROW),
                                   .inbox = device_address(inboxes[self] + HEAD + i * ROW),
                                   .from = device_address(operands[self]),
                                   .to = device_address(results[self]),
                                   .out_bytes = gives ? bytes : 0,
                                   .in_bytes = gets ? bytes : 0};
    }
    weft_call_exchange(root < 0 ? kernel : WEFT_KERNEL_exchange_move, bytes, (int)members,
                       &calls[self]);
}

static void clear_conduits(void)
{
    memset(inboxes, 0, sizeof(inboxes));
    memset(watch, 0, sizeof(watch));
}

static void expect_results(uint32_t members, int root)
{
    for (uint32_t m = 0; m < members; m++) {
        for (uint32_t i = 0; i < COUNT && (int)m != root; i++) {
            uint32_t sum = 0;
            for (uint32_t from = 0; from < members; from++)
                sum += root < 0 || root == (int)from ? operands[from][i] : 0;
            assert_int_equal(results[m][i], sum);
        }
    }
}

static void expect_ends(uint32_t members, uint32_t flag)
{
    for (uint32_t m = 0; m < members; m++) {
        assert_int_equal(head_of(m)->ended, flag);
        assert_int_equal(head_of(m)->blocks, 0);
        assert_int_equal(watch[m][WEFT_WATCH_BEGUN], flag);
        assert_int_equal(watch[m][WEFT_WATCH_ENDED], flag);
        assert_int_equal(watch[m][WEFT_WATCH_NUMBER], 77);
        assert_int_equal(watch[m][WEFT_WATCH_VAIN], 0);
    }
}

static void repeat(uint32_t members, int root, uint32_t first_flag)
{
    uint32_t flag = first_flag;
    for (uint32_t m = 0; m < members; m++) {
        head_of(m)->ended = first_flag - 1;
        prepare(members, m, root, sizeof(operands[0]));
    }
    for (int launch = 0; launch < LAUNCHES; launch++) {
        for (uint32_t m = 0; m < members; m++) {
            for (int i = 0; i < COUNT; i++)
                operands[m][i] = random_bits();
        }
        run_together(members);
        expect_results(members, root);
        expect_ends(members, flag);
        flag = flag == WEFT_CONDUIT_LAST_FLAG ? 1 : flag + 1;
    }
}

static void launched_again(void **state)
{
    (void)state;
    for (uint32_t members = 1; members <= MOST_MEMBERS; members++) {
        clear_conduits();
        repeat(members, -1, 1);
        clear_conduits();
        repeat(members, (int)members - 1, 1);
    }
}

/* Odd and even flags take turns when the flags begin again. */
static void flags_begin_again(void **state)
{
    (void)state;
    clear_conduits();
    repeat(3, -1, WEFT_CONDUIT_LAST_FLAG - 3);
}

/* Members without data wait for each other, too: run alone, one would never end. */
static void barrier(void **state)
{
    (void)state;
    clear_conduits();
    for (uint32_t m = 0; m < 3; m++)
        prepare(3, m, 0, 0);
    run_together(3);
    expect_ends(3, 1);
    watch[0][WEFT_WATCH_OFF] = 2;
    run_kernel(&calls[0]);
    assert_int_equal(watch[0][WEFT_WATCH_VAIN], 2);
}

static void broken(void **state)
{
    (void)state;
    clear_conduits();
    for (uint32_t m = 0; m < 3; m++)
        prepare(3, m, -1, sizeof(operands[0]));
    watch[0][WEFT_WATCH_OFF] = 1;
    run_kernel(&calls[0]);
    for (uint32_t m = 0; m < 3; m++) {
        assert_int_not_equal(head_of(m)->broken, 0);
        run_kernel(&calls[m]);
        assert_int_equal(watch[m][WEFT_WATCH_VAIN], m == 0 ? 2 : 1);
        assert_int_equal(watch[m][WEFT_WATCH_ENDED], m == 0 ? 2 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(launched_again),
                                       cmocka_unit_test(flags_begin_again),
                                       cmocka_unit_test(barrier), cmocka_unit_test(broken)};
    int failed = open_kernels();
    return failed != 0 ? failed : cmocka_run_group_tests(tests, NULL, NULL);
}
