/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that exchange data, run on the host at the same time: every reduction is compared bit for
 * bit with the kernel that reduces operands in memory, in one shot and in two, at all alignments
 * and repeatedly in the same inboxes; and kernels whose partners do not come.
 */
#include "cuda/partner_kernels.h"

enum {
    MOST_COUNT = 150,
    ROOM = 64 + MOST_COUNT * 16,
    ROW = 2 * (MOST_COUNT + 1) * 16,
    BLOCKS = MOST_MEMBERS * ROW, /* bytes of an inbox; the rows of results follow */
};

static _Alignas(64) unsigned char source[MOST_MEMBERS][ROOM], result[MOST_MEMBERS][ROOM],
    expected[ROOM];
static _Alignas(64) unsigned char inbox[MOST_MEMBERS][2 * BLOCKS];

/* A case: `bytes` bytes of each member, which begin `shift` bytes into its buffer. */
typedef struct exchange {
    weft_kernel_t reduction;
    uint32_t members, flag;
    int crowd;
    size_t bytes, slice, shift; /* slice: of one member in two shots; 0: one shot */
} exchange_t;

static void expect_result(const exchange_t *its)
{
    const void *sources[MOST_MEMBERS];
    for (uint32_t i = 0; i < its->members; i++)
        sources[i] = device_address(source[i] + its->shift);
    reduce_at_hand(its->reduction, sources, its->members, its->bytes,
                   device_address(expected + its->shift));
}

static weft_exchange_side_t side_of(const exchange_t *its, uint32_t self, uint32_t other)
{
    size_t begin = its->slice * other < its->bytes ? its->slice * other : its->bytes,
           left = its->bytes - begin;
    size_t part = left < its->slice ? left : its->slice;
    weft_exchange_side_t side = {.outbox = device_address(inbox[other] + self * ROW),
                                 .inbox = device_address(inbox[self] + other * ROW),
                                 .from = device_address(source[self] + its->shift + begin),
                                 .to = device_address(result[self] + its->shift + begin)};
    side.out_bytes = its->slice > 0 ? part : its->bytes;
    side.in_bytes = its->slice > 0 ? part : other == self ? its->bytes : 0;
    if (its->slice == 0) {
        side.from = device_address(source[self] + its->shift);
        side.to = device_address(result[self] + its->shift);
    }
    return side;
}

static void prepare(const exchange_t *its, uint32_t self, uint64_t limit_ns)
{
    weft_exchange_args_t *args = &calls[self].args.exchange;
    *args = (weft_exchange_args_t){.members = its->members,
                                   .member = self,
                                   .flag = its->flag,
                                   .limit_ns = limit_ns,
                                   .results = its->slice > 0 ? BLOCKS : 0,
                                   .watch = device_address(watch[self])};
    for (uint32_t i = 0; i < its->members; i++)
        args->side[i] = side_of(its, self, i);
    calls[self].fills_device = true; /* as if from a call before */
    weft_call_exchange(weft_exchange_kernel(its->reduction),
                       its->slice > 0 ? its->slice : its->bytes, its->crowd, &calls[self]);
    assert_false(calls[self].fills_device); /* all ranks launch the same blocks */
}

static exchange_t random_case(weft_kernel_t reduction)
{
    static uint32_t flag;
    size_t element = weft_kernel_element_bytes[reduction];
    exchange_t its = {
        .reduction = reduction, .members = 2 + random_below(MOST_MEMBERS - 1), .flag = ++flag};
    its.crowd = 1 + (int)random_below(its.members);
    its.bytes = (1 + random_below(MOST_COUNT)) * element;
    its.shift = random_below(2) * 16 + random_below(2) * random_below(16);
    if (random_below(2) == 1)
        its.slice = ((its.bytes + 15) / 16 + its.members - 1) / its.members * 16;
    return its;
}

static void check(const exchange_t *its)
{
    fill(expected, ROOM);
    for (uint32_t i = 0; i < its->members; i++) {
        fill(source[i], ROOM);
        fill_with_numbers(source[i] + its->shift, its->bytes);
        memcpy(result[i], expected, ROOM);
        prepare(its, i, 0);
    }
    expect_result(its);
    run_together(its->members);
    for (uint32_t i = 0; i < its->members; i++) {
        if (memcmp(result[i], expected, ROOM) != 0)
            fail_msg(
                "%s of %zu bytes, slices of %zu, %zu bytes off: member %u of %u has another result",
                weft_kernel_names[its->reduction + 1], its->bytes, its->slice, its->shift, i,
                its->members);
    }
}

static void reductions(void **state)
{
    (void)state;
    for (int i = 1; i < WEFT_KERNEL_COUNT; i++) {
        for (int round = 0; weft_kernel_element_bytes[i] > 0 && round < 6; round++) {
            exchange_t its = random_case((weft_kernel_t)i);
            check(&its);
        }
    }
}

static weft_kernel_t any_reduction(void)
{
    int i = 1;
    while (weft_kernel_element_bytes[i] == 0)
        i++;
    return (weft_kernel_t)i;
}

/* No partner comes: the kernel reports that and ends after its limit, or when it is called off. */
static void alone(void **state)
{
    (void)state;
    for (int is_called_off = 0; is_called_off < 2; is_called_off++) {
        exchange_t its = random_case(any_reduction());
        prepare(&its, 0, is_called_off ? 0 : 1000000);
        run_alone(its.flag, is_called_off);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions), cmocka_unit_test(alone)};
    int failed = open_kernels();
    return failed != 0 ? failed : cmocka_run_group_tests(tests, NULL, NULL);
}
