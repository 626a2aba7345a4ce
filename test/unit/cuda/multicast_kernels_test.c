/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for multicast memory, run on the host at the same time: each reduction is compared with
 * the kernel that reduces operands in memory, and moved data with what was given, at all
 * alignments, in many pieces and in few, with blocks of different lengths, repeatedly in the same
 * memory, out of and into buffers that are bound and others; kernels whose partners do not come,
 * and one whose partner comes after a standstill. An address of a multicast object has the bit
 * OF_OBJECT set, and a number for the object; its other bits are the place in each member's
 * memory.
 */
#include "cuda/partner_kernels.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 5000, ROOM = MOST_BYTES + 64 + 16 * MOST_MEMBERS, AREAS = 3 };

#define OF_OBJECT ((uintptr_t)1 << 61)

/* The memory behind each object: for the areas, and of bound buffers. */
typedef enum object_of { AREAS_OF_ALL, SOURCES, RESULTS, OBJECTS } object_of_t;

enum { OBJECT_BITS = 40 };

static _Alignas(64) unsigned char source[MOST_MEMBERS][ROOM], result[MOST_MEMBERS][ROOM],
    expected[MOST_MEMBERS][ROOM];
static _Alignas(64) unsigned char object[MOST_MEMBERS][AREAS * WEFT_MULTICAST_AREA];
static unsigned members; /* of the present object */

static unsigned char *object_memory(object_of_t which, unsigned member)
{
    return which == AREAS_OF_ALL ? object[member]
           : which == SOURCES    ? source[member]
                                 : result[member];
}

static unsigned places_of(const void *address, void **places_out, unsigned most)
{
    uintptr_t rest = (uintptr_t)address & ~OF_OBJECT;
    object_of_t which = (object_of_t)(rest >> OBJECT_BITS);
    uintptr_t place = rest - ((uintptr_t)which << OBJECT_BITS);
    if (((uintptr_t)address & OF_OBJECT) == 0 || which >= OBJECTS || members > most ||
        place >= (which == AREAS_OF_ALL ? sizeof(object[0]) : ROOM))
        abort();
    for (unsigned i = 0; i < members; i++)
        places_out[i] = object_memory(which, i) + place;
    return members;
}

/* The address of something in a member's buffer in the object to which the buffer is bound. */
static void *bound_address(object_of_t which, unsigned member, const unsigned char *at)
{
    uintptr_t place = (uintptr_t)(at - object_memory(which, member));
    return (void *)(OF_OBJECT | (uintptr_t)which << OBJECT_BITS | place);
}

typedef enum form { ALLREDUCE, REDUCE_SCATTER, BCAST, ALLGATHER, FORMS } form_t;

/* A portion's bytes, and where they begin in a buffer that holds all portions. */
typedef struct extent {
    size_t bytes, place;
} extent_t;

/* A case. The data begin so many bytes (the shifts) into the buffers. */
typedef struct collective {
    form_t form;
    weft_kernel_t kernel, reduce; /* by multicast, and for operands in memory */
    uint32_t flag, piece, first, root, portions;
    extent_t portion[MOST_MEMBERS];
    size_t from_shift, to_shift;
    bool is_in_place, binds_from, binds_to;
} collective_t;

static bool is_reduction(const collective_t *its)
{
    return its->form == ALLREDUCE || its->form == REDUCE_SCATTER;
}

/* ---- what a member gives and gets ---- */

static bool gives(const collective_t *its, uint32_t self, uint32_t portion)
{
    return is_reduction(its) || self == (its->form == BCAST ? its->root : portion);
}

static bool gets(const collective_t *its, uint32_t self, uint32_t portion)
{
    switch (its->form) {
    case ALLREDUCE:
        return true;
    case REDUCE_SCATTER:
        return self == portion;
    case BCAST:
        return self != its->root;
    default:
        return self != portion || !its->is_in_place;
    }
}

/* Where a portion goes in `buffer`, which holds all portions or only what is the member's own. */
static unsigned char *target(const collective_t *its, unsigned char *buffer, uint32_t portion)
{
    return buffer + its->to_shift + (its->form == ALLGATHER ? its->portion[portion].place : 0);
}

static unsigned char *origin(const collective_t *its, uint32_t self, uint32_t portion)
{
    if (its->is_in_place)
        return target(its, result[self], portion);
    return source[self] + its->from_shift +
           (its->form == REDUCE_SCATTER ? its->portion[portion].place : 0);
}

/* ---- a case ---- */

static void expect_portion(const collective_t *its, uint32_t self, uint32_t portion)
{
    const void *sources[MOST_MEMBERS];
    unsigned char *to = target(its, expected[self], portion);
    size_t bytes = its->portion[portion].bytes;
    uint32_t giver = its->form == BCAST ? its->root : portion;
    for (uint32_t i = 0; i < members; i++)
        sources[i] = device_address(origin(its, i, portion));
    if (!is_reduction(its))
        memcpy(to, origin(its, giver, portion), bytes);
    else if (bytes > 0)
        reduce_at_hand(its->reduce, sources, members, bytes, device_address(to));
}

/* The results are the same as before, except for the portions that a member gets. */
static void expect_results(const collective_t *its)
{
    memcpy(expected, result, sizeof(result));
    for (uint32_t i = 0; i < members; i++) {
        for (uint32_t p = 0; p < its->portions; p++) {
            if (gets(its, i, p))
                expect_portion(its, i, p);
        }
    }
}

static weft_multicast_portion_t portion_of(const collective_t *its, uint32_t self, uint32_t p)
{
    weft_multicast_portion_t portion = {.bytes = its->portion[p].bytes};
    if (gives(its, self, p))
        portion.from = device_address(origin(its, self, p));
    if (gets(its, self, p))
        portion.to = device_address(target(its, result[self], p));
    if (its->binds_from)
        portion.from_all =
            bound_address(its->is_in_place ? RESULTS : SOURCES, self, origin(its, self, p));
    if (its->binds_to)
        portion.to_all = bound_address(RESULTS, self, target(its, result[self], p));
    return portion;
}

/* The data go in pieces of the size given, so that blocks have several turns. */
static void prepare(const collective_t *its, uint32_t self, uint64_t limit_ns)
{
    weft_multicast_args_t *args = &calls[self].args.multicast;
    *args = (weft_multicast_args_t){.members = members,
                                    .member = self,
                                    .flag = its->flag,
                                    .portions = its->portions,
                                    .scatters = its->form == REDUCE_SCATTER,
                                    .limit_ns = limit_ns,
                                    .watch = device_address(watch[self]),
                                    .own = device_address(object[self]),
                                    .all = (void *)OF_OBJECT};
    for (uint32_t p = 0; p < its->portions; p++) {
        args->portion[p] = portion_of(its, self, p);
        if (args->portion[p].bytes > args->bytes)
            args->bytes = args->portion[p].bytes;
    }
    weft_call_multicast(its->kernel, &calls[self]);
    assert_true(args->piece % 16 == 0 && args->row * args->portions <= WEFT_MULTICAST_SLOT);
    assert_true(args->row == args->piece || (its->binds_from || its->binds_to));
    if (args->row == args->piece)
        args->row = its->piece;
    args->piece = its->piece;
    args->first = its->first;
    size_t pieces = (args->bytes + its->piece - 1) / its->piece;
    calls[self].blocks = pieces < AREAS ? (unsigned)pieces : AREAS;
}

/* Portions that are bound begin at multiples of 16. */
static void bind_buffers(collective_t *its)
{
    size_t moved = 0;
    bool moves = !is_reduction(its), scatters = its->form == REDUCE_SCATTER;
    its->binds_from = !moves && random_below(2) == 0;
    its->binds_to =
        !scatters && (its->is_in_place && !moves ? its->binds_from : random_below(2) == 0);
    if (its->binds_to && its->form == BCAST)
        its->is_in_place = true; /* the root's buffer is bound, too */
    if (its->binds_from)
        its->from_shift &= ~(size_t)15;
    if (its->binds_to)
        its->to_shift &= ~(size_t)15;
    if (its->is_in_place && its->binds_from)
        its->to_shift &= ~(size_t)15;
    for (uint32_t p = 0; p < its->portions && (its->binds_from || its->binds_to); p++) {
        its->portion[p].place = moved;
        moved += (its->portion[p].bytes + 15) / 16 * 16;
    }
}

/* One portion is as long as it may be; further ones are shorter, and some have nothing. */
static void choose_portions(collective_t *its, size_t element)
{
    size_t place = 0, most = MOST_BYTES / its->portions / element;
    if (random_below(4) == 0)
        most = 20;
    for (uint32_t p = 0; p < its->portions; p++) {
        size_t count = p == 0 ? 1 + random_below((unsigned)most) : random_below((unsigned)most);
        its->portion[p] = (extent_t){count * element, place};
        place += count * element;
    }
}

static collective_t random_case(form_t form, weft_kernel_t reduce, weft_kernel_t kernel)
{
    static uint32_t flag;
    bool has_blocks = form == REDUCE_SCATTER || form == ALLGATHER;
    members = 1 + random_below(MOST_MEMBERS);
    collective_t its = {.form = form,
                        .kernel = kernel,
                        .reduce = reduce,
                        .flag = ++flag,
                        .piece = 16 * (1 + random_below(20)),
                        .root = random_below(members),
                        .portions = has_blocks ? members : 1,
                        .from_shift = random_below(2) * random_below(32),
                        .to_shift = random_below(2) * random_below(32)};
    its.is_in_place = (form == ALLREDUCE || form == ALLGATHER) && random_below(3) == 0;
    its.first = random_below(2) * (its.piece / AREAS / 16 * 16);
    choose_portions(&its, reduce == WEFT_NO_KERNEL ? 1 : weft_kernel_element_bytes[reduce]);
    if (random_below(2) == 0)
        bind_buffers(&its);
    return its;
}

static void fill_operands(const collective_t *its)
{
    for (uint32_t i = 0; i < members; i++) {
        fill(result[i], ROOM);
        fill(source[i], ROOM);
        for (uint32_t p = 0; p < its->portions; p++) {
            if (gives(its, i, p))
                fill_with_numbers(origin(its, i, p), its->portion[p].bytes);
        }
    }
}

static void check(const collective_t *its)
{
    fill_operands(its);
    expect_results(its);
    for (uint32_t i = 0; i < members; i++)
        prepare(its, i, 0);
    run_together(members);
    for (uint32_t i = 0; i < members; i++) {
        if (memcmp(result[i], expected[i], ROOM) != 0)
            fail_msg("form %d, %s of %zu bytes, pieces of %u, %zu and %zu bytes off: member %u "
                     "of %u has another result",
                     (int)its->form, weft_kernel_names[its->kernel], its->portion[0].bytes,
                     its->piece, its->from_shift, its->to_shift, i, members);
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
        for (int round = 0; round < 16; round++) {
            form_t form = round % 2 == 0 ? ALLREDUCE : REDUCE_SCATTER;
            collective_t its = random_case(form, kernels[i].reduce, kernels[i].multicast);
            check(&its);
        }
    }
}

static void movements(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        form_t form = round % 2 == 0 ? BCAST : ALLGATHER;
        collective_t its = random_case(form, WEFT_NO_KERNEL, WEFT_KERNEL_multicast_move);
        check(&its);
    }
}

static collective_t case_of_two(form_t form)
{
    bool moves = form == BCAST || form == ALLGATHER;
    collective_t its;
    do
        its = random_case(form, moves ? WEFT_NO_KERNEL : kernels[0].reduce,
                          moves ? WEFT_KERNEL_multicast_move : kernels[0].multicast);
    while (members != 2);
    return its;
}

/* No partner comes: the kernel reports that and ends after its limit, or when it is called off. */
static void alone(void **state)
{
    (void)state;
    for (int is_called_off = 0; is_called_off < 2; is_called_off++) {
        for (form_t form = ALLREDUCE; form < FORMS; form++) {
            collective_t its = case_of_two(form);
            prepare(&its, 0, is_called_off ? 0 : 1000000);
            run_alone(its.flag, is_called_off);
        }
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
    collective_t its = case_of_two(ALLREDUCE);
    fill_operands(&its);
    expect_results(&its);
    for (uint32_t i = 0; i < members; i++)
        prepare(&its, i, 120000000000);
    atomic_store(&minutes_to_come, 10);
    assert_int_equal(pthread_create(&late, NULL, run_late, &calls[1]), 0);
    run_kernel(&calls[0]);
    atomic_store(&minutes_to_come, 0);
    if (watch[0][1] == its.flag)
        watch[1][0] = its.flag; /* it has given up: nor does the other wait */
    pthread_join(late, NULL);
    assert_memory_equal(result[0], expected[0], ROOM);
    assert_memory_equal(result[1], expected[1], ROOM);
}

static weft_kernel_call_t launch_of(uint64_t bytes, uint32_t portions, bool is_bound)
{
    weft_kernel_call_t call = {.args.multicast = {.bytes = bytes, .portions = portions},
                               .fills_device = true};
    for (uint32_t i = 0; i < portions; i++) {
        weft_multicast_portion_t *portion = &call.args.multicast.portion[i];
        portion->from_all = portion->to_all = is_bound ? object[0] : NULL;
    }
    weft_call_multicast(kernels[0].multicast, &call);
    assert_false(call.fills_device);
    assert_int_equal(call.args.multicast.piece % 16, 0);
    assert_in_range(call.args.multicast.row, 16, WEFT_MULTICAST_SLOT / portions);
    assert_in_range(call.blocks, 1, WEFT_MULTICAST_BLOCKS);
    assert_true((uint64_t)call.blocks * call.args.multicast.piece >= bytes ||
                call.blocks == WEFT_MULTICAST_BLOCKS);
    return call;
}

/* The largest launch uses all the memory, and no launch needs more. All ranks launch the same
 * blocks: none may leave out some of them. Once the data take more than a round, the first pieces
 * ascend to a whole one, so that blocks do different things at a time. */
static void launches(void **state)
{
    (void)state;
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes = bytes * 3 + 1) {
        for (uint32_t portions = 1; portions <= WEFT_EXCHANGE_MEMBERS; portions++) {
            weft_kernel_call_t call = launch_of(bytes, portions, false);
            const weft_multicast_args_t *args = &call.args.multicast;
            bool is_long = bytes > WEFT_MULTICAST_BLOCKS * (WEFT_MULTICAST_SLOT / portions);
            assert_int_equal(args->row, args->piece);
            assert_int_equal(args->first % 16, 0);
            assert_int_equal(args->first, is_long ? args->piece / WEFT_MULTICAST_BLOCKS : 0);
            assert_true(!is_long || args->first > 0);
        }
    }
}

/* Out of and into bound memory a block has one piece, of any length: it waits twice. */
static void straight_launches(void **state)
{
    (void)state;
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 35; bytes = bytes * 3 + 1) {
        weft_kernel_call_t call = launch_of(bytes, 1, true);
        const weft_multicast_args_t *args = &call.args.multicast;
        assert_int_equal(args->row, 16);
        assert_int_equal(args->first, 0);
        assert_true((uint64_t)call.blocks * args->piece >= bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions), cmocka_unit_test(movements),
        cmocka_unit_test(alone),      cmocka_unit_test(standstill),
        cmocka_unit_test(launches),   cmocka_unit_test(straight_launches)};
    int failed = open_kernels();
    if (failed != 0)
        return failed;
    *host_multicast = places_of;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
