/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kernel that this processor has copies every byte, and none beside, from all places in a
 * line to all places in a line. */
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = 64, MOST = 5000, GUARD = 2 * LINE, ROOM = MOST + 2 * GUARD + LINE };

static unsigned char source[ROOM] __attribute__((aligned(LINE)));
static unsigned char target[ROOM] __attribute__((aligned(LINE)));

static void copy_and_check(size_t to, size_t from, size_t bytes)
{
    memset(target, 0xa5, sizeof(target));
    weft_copy(target + GUARD + to, source + from, bytes);
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(target[to + i], 0xa5);
        assert_int_equal(target[GUARD + to + bytes + i], 0xa5);
    }
    assert_memory_equal(target + GUARD + to, source + from, bytes);
}

/* Loops copy between all places, and then only where `rep movsb` may be slow. */
static const size_t limits[] = {WEFT_COPY_PAGE, WEFT_COPY_BEHIND};

static void all_lengths_arrive(weft_simd_t set)
{
    static const size_t near[] = {0, 1, 8, 16, 31, 33, 63};
    enum { PLACES = sizeof(near) / sizeof(near[0]) };
    weft_copy_loop = weft_copy_loops[set];
    for (size_t bytes = 0; bytes <= 1400; bytes++)
        copy_and_check(near[bytes % PLACES], near[bytes / PLACES % PLACES], bytes);
    for (size_t to = 0; to < LINE; to++) {
        copy_and_check(to, 0, WEFT_COPY_LONG);
        copy_and_check(to, 17, MOST);
        copy_and_check(0, to, 4096 + to);
    }
}

static void kernels_copy_everything(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(source); i++)
        source[i] = (unsigned char)(i * 7 + (i >> 8));
    for (weft_simd_t set = WEFT_SIMD_BASE; set < WEFT_SIMD_SETS; set++) {
        if (weft_simd_is_available(set)) {
            assert_non_null(weft_copy_loops[set]);
            for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                weft_copy_loop_below = limits[i];
                all_lengths_arrive(set);
            }
        }
    }
}

static void reads_and_writes(size_t bytes)
{
    for (int is_read = 0; is_read < 2; is_read++) {
        memset(target, 0xa5, sizeof(target));
        if (is_read)
            weft_copy_read(target + GUARD, source + 17, bytes);
        else
            weft_copy_write(target + GUARD, source + 17, bytes);
        assert_memory_equal(target + GUARD, source + 17, bytes);
        assert_int_equal(target[GUARD - 1], 0xa5);
        assert_int_equal(target[GUARD + bytes], 0xa5);
    }
}

/* By loops in these sizes, and by libc outside of them; with none it is weft_copy(). */
static void what_goes_between_cores_arrives(void **state)
{
    static const size_t lengths[] = {0, 1, 511, 512, 513, 1411, 1412, 3000, MOST};
    static const size_t sizes[] = {0, 900, WEFT_COPY_SHARED_END - WEFT_COPY_LONG};
    (void)state;
    weft_copy_loop_below = 0;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            weft_copy_read_sizes = weft_copy_write_sizes = sizes[j];
            reads_and_writes(lengths[i]);
        }
    }
}

/* A buffer that is sent to itself is not changed. */
static void a_place_is_copied_to_itself(void **state)
{
    (void)state;
    weft_copy_loop_below = WEFT_COPY_PAGE;
    for (size_t i = 0; i < sizeof(target); i++)
        target[i] = (unsigned char)(i * 5);
    for (weft_simd_t set = WEFT_SIMD_BASE; set < WEFT_SIMD_SETS; set++) {
        if (!weft_simd_is_available(set))
            continue;
        weft_copy_loop = weft_copy_loops[set];
        weft_copy(target + 3, target + 3, MOST);
        for (size_t i = 0; i < sizeof(target); i++)
            assert_int_equal(target[i], (unsigned char)(i * 5));
    }
}

/* Behind by 1 to 31 bytes, whatever pages the two places are in. */
static void distances_are_those_within_a_page(void **state)
{
    const char *at = (const char *)(uintptr_t)0x7f0000010ff0;
    (void)state;
    assert_true(weft_copy_distance(at + 1, at) < WEFT_COPY_BEHIND);
    assert_true(weft_copy_distance(at + 31 + 4096, at) < WEFT_COPY_BEHIND);
    assert_true(weft_copy_distance(at + 16 - 40960, at) < WEFT_COPY_BEHIND);
    assert_false(weft_copy_distance(at, at) < WEFT_COPY_BEHIND);
    assert_false(weft_copy_distance(at + 32, at) < WEFT_COPY_BEHIND);
    assert_false(weft_copy_distance(at - 1, at) < WEFT_COPY_BEHIND);
}

/* From and to all places in a line; nothing beside. */
static void nontemporal_copies_are_whole(weft_copy_fn_t copy)
{
    for (size_t bytes = 0; bytes <= 1000; bytes++) {
        size_t to = GUARD + bytes * 7 % LINE;
        memset(target, 0xa5, sizeof(target));
        copy(target + to, source + bytes % LINE, bytes);
        for (size_t i = 0; i < GUARD; i++) {
            assert_int_equal(target[to - 1 - i], 0xa5);
            assert_int_equal(target[to + bytes + i], 0xa5);
        }
        assert_memory_equal(target + to, source + bytes % LINE, bytes);
    }
}

static void nontemporal_kernels_copy_everything(void **state)
{
    (void)state;
#ifdef __x86_64__
    nontemporal_copies_are_whole(weft_copy_nontemporal_base);
    if (weft_simd_is_available(WEFT_SIMD_AVX2))
        nontemporal_copies_are_whole(weft_copy_nontemporal_avx2);
    if (weft_simd_is_available(WEFT_SIMD_AVX512))
        nontemporal_copies_are_whole(weft_copy_nontemporal_avx512);
#else
    assert_null(weft_copy_nontemporal);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_copy_everything),
        cmocka_unit_test(nontemporal_kernels_copy_everything),
        cmocka_unit_test(distances_are_those_within_a_page),
        cmocka_unit_test(what_goes_between_cores_arrives),
        cmocka_unit_test(a_place_is_copied_to_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
