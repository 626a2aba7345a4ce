/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for multicast memory, run on the host at the same time: each is compared with the kernel
 * that reduces operands in memory, at all alignments, in many pieces and in few, repeatedly in the
 * same memory; kernels whose partners do not come, and one whose partner comes after a standstill.
 * An address of the multicast object has the bit OF_OBJECT set; its other bits are the place in
 * each member's memory.
 */
#include "cuda/partner_kernels.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 5000, ROOM = MOST_BYTES + 64, AREAS = 3 };

#define OF_OBJECT ((uintptr_t)1 << 61)

static _Alignas(64) unsigned char source[MOST_MEMBERS][ROOM], result[MOST_MEMBERS][ROOM],
    expected[ROOM];
static _Alignas(64) unsigned char object[MOST_MEMBERS][AREAS * WEFT_MULTICAST_AREA];
static unsigned members; /* of the present object */

static unsigned places_of(const void *address, void **places_out, unsigned most)
{
    uintptr_t place = (uintptr_t)address & ~OF_OBJECT;
    if (((uintptr_t)address & OF_OBJECT) == 0 || place >= sizeof(object[0]) || members > most)
        abort();
    for (unsigned i = 0; i < members; i++)
        places_out[i] = object[i] + place;
    return members;
}

/* A case: `bytes` bytes of each member, which begin so many bytes (the shifts) into its buffers. */
typedef struct reduction {
    weft_kernel_t kernel, reduce; /* by multicast, and for operands in memory */
    uint32_t flag, piece;
    size_t bytes, from_shift, to_shift;
    bool is_in_place;
} reduction_t;

static void expect_result(const reduction_t *its)
{
    const void *sources[MOST_MEMBERS];
    for (uint32_t i = 0; i < members; i++)
        sources[i] = device_address(source[i] + its->from_shift);
    reduce_at_hand(its->reduce, sources, members, its->bytes,
                   device_address(expected + its->to_shift));
}

/* The data go in pieces of the size given, so that blocks have several turns. */
static void prepare(const reduction_t *its, uint32_t self, uint64_t limit_ns)
{
    weft_multicast_args_t *args = &calls[self].args.multicast;
    unsigned char *from = source[self] + its->from_shift, *to = result[self] + its->to_shift;
    if (its->is_in_place)
        memcpy(to, from, its->bytes);
    *args = (weft_multicast_args_t){.members = members,
                                    .member = self,
                                    .flag = its->flag,
                                    .bytes = its->bytes,
                                    .limit_ns = limit_ns,
                                    .watch = device_address(watch[self]),
                                    .from = device_address(its->is_in_place ? to : from),
                                    .to = device_address(to),
                                    .own = device_address(object[self]),
                                    .all = (void *)OF_OBJECT};
    weft_call_multicast(its->kernel, &calls[self]);
    assert_true(args->piece % 16 == 0 && args->piece <= WEFT_MULTICAST_PIECE);
    args->piece = its->piece;
    size_t pieces = (its->bytes + its->piece - 1) / its->piece;
    calls[self].blocks = pieces < AREAS ? (unsigned)pieces : AREAS;
}

static reduction_t random_case(weft_kernel_t reduce, weft_kernel_t kernel)
{
    static uint32_t flag;
    size_t element = weft_kernel_element_bytes[reduce];
    reduction_t its = {
        .kernel = kernel, .reduce = reduce, .flag = ++flag, .piece = 16 * (1 + random_below(20))};
    members = 1 + random_below(MOST_MEMBERS);
    its.bytes =
        (1 + random_below((unsigned)(random_below(4) == 0 ? 20 : MOST_BYTES / element))) * element;
    its.from_shift = random_below(2) * random_below(32);
    its.to_shift = random_below(2) * random_below(32);
    its.is_in_place = random_below(3) == 0;
    return its;
}

static void check(const reduction_t *its)
{
    fill(expected, ROOM);
    for (uint32_t i = 0; i < members; i++) {
        fill(source[i], ROOM);
        fill_with_numbers(source[i] + its->from_shift, its->bytes);
        memcpy(result[i], expected, ROOM);
        prepare(its, i, 0);
    }
    expect_result(its);
    run_together(members);
    for (uint32_t i = 0; i < members; i++) {
        if (memcmp(result[i], expected, ROOM) != 0)
            fail_msg("%s of %zu bytes, pieces of %u, %zu and %zu bytes off: member %u of %u has "
                     "another result",
                     weft_kernel_names[its->kernel], its->bytes, its->piece, its->from_shift,
                     its->to_shift, i, members);
    }
}

static const struct {
    weft_kernel_t reduce, multicast;
} kernels[] = {
#define PAIR(op, name, width, instruction)                                                         \
    {WEFT_KERNEL_reduce_##op##_##name, WEFT_KERNEL_multicast_##op##_##name},
    WEFT_MULTICASTS(PAIR)};

static void reductions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        for (int round = 0; round < 8; round++) {
            reduction_t its = random_case(kernels[i].reduce, kernels[i].multicast);
            check(&its);
        }
    }
}

/* No partner comes: the kernel reports that and ends after its limit, or when it is called off. */
static void alone(void **state)
{
    (void)state;
    for (int is_called_off = 0; is_called_off < 2; is_called_off++) {
        reduction_t its = random_case(kernels[0].reduce, kernels[0].multicast);
        members = 2;
        prepare(&its, 0, is_called_off ? 0 : 1000000);
        run_alone(its.flag, is_called_off);
    }
}

/* ---- the machine stands still ---- */

/* So many readings of the clock are to come that are a minute after the one before. */
static atomic_int minutes_to_come;

/* Kernels read this clock, too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    static atomic_int minutes;
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (atomic_load(&minutes_to_come) > 0) {
        atomic_fetch_add(&minutes, 1);
        atomic_fetch_sub(&minutes_to_come, 1);
    }
    now->tv_sec += 60 * atomic_load(&minutes);
    return failed;
}

static void *run_late(void *call)
{
    while (atomic_load(&minutes_to_come) > 0)
        sched_yield();
    run_kernel(call);
    return NULL;
}

/* Minutes go by between the looks of a kernel that waits for at most two: they do not count. */
static void standstill(void **state)
{
    (void)state;
    pthread_t late;
    reduction_t its = random_case(kernels[0].reduce, kernels[0].multicast);
    members = 2;
    fill(expected, ROOM);
    for (uint32_t i = 0; i < members; i++) {
        fill_with_numbers(source[i], ROOM);
        memcpy(result[i], expected, ROOM);
        prepare(&its, i, 120000000000);
    }
    expect_result(&its);
    atomic_store(&minutes_to_come, 10);
    assert_int_equal(pthread_create(&late, NULL, run_late, &calls[1]), 0);
    run_kernel(&calls[0]);
    atomic_store(&minutes_to_come, 0);
    if (watch[0][1] == its.flag)
        watch[1][0] = its.flag; /* it has given up: nor does the other wait */
    pthread_join(late, NULL);
    assert_memory_equal(result[0], expected, ROOM);
    assert_memory_equal(result[1], expected, ROOM);
}

/* The largest launch uses all the memory, and no launch needs more. All ranks launch the same
 * blocks: none may leave out some of them. */
static void launches(void **state)
{
    (void)state;
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes = bytes * 3 + 1) {
        weft_kernel_call_t call = {.args.multicast.bytes = bytes, .fills_device = true};
        weft_call_multicast(kernels[0].multicast, &call);
        const weft_multicast_args_t *args = &call.args.multicast;
        assert_false(call.fills_device);
        assert_int_equal(args->piece % 16, 0);
        assert_in_range(args->piece, 16, WEFT_MULTICAST_PIECE);
        assert_in_range(call.blocks, 1, WEFT_MULTICAST_BLOCKS);
        assert_true((uint64_t)call.blocks * args->piece >= bytes ||
                    call.blocks == WEFT_MULTICAST_BLOCKS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions), cmocka_unit_test(alone),
                                       cmocka_unit_test(standstill), cmocka_unit_test(launches)};
    int failed = open_kernels();
    if (failed != 0)
        return failed;
    *host_multicast = places_of;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
