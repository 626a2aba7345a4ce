/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/pack.h"
#include "datatype/pack_permute.h"
#include "datatype/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void check_pack(const model_t *model, size_t count, size_t offset, size_t bytes)
{
    arena_t arena = make_arena(model, count);
    size_t total = count * model->bytes;
    size_t expected = offset >= total ? 0 : bytes < total - offset ? bytes : total - offset;
    unsigned char *out = malloc(bytes + 1);
    out[expected] = 0x5a;
    size_t packed = weft_pack(arena.at, count, model->type, offset, out, bytes);
    if (packed != expected)
        fail_msg("seed %llu: packed %zu bytes, not %zu", model_seed, packed, expected);
    for (size_t i = 0; i < packed; i++) {
        if (out[i] != arena.at[place_of(model, offset + i)])
            fail_msg("seed %llu: byte %zu at offset %zu of %zu differs", model_seed, i, offset,
                     total);
    }
    assert_int_equal(out[expected], 0x5a);
    free(out);
    free(arena.memory);
}

static void check_unpack(const model_t *model, size_t count, size_t offset, size_t bytes)
{
    arena_t arena = make_arena(model, count);
    unsigned char *expected = malloc(arena.bytes), *in = malloc(bytes + 1);
    memcpy(expected, arena.memory, arena.bytes);
    model_random_bytes(in, bytes);
    if (!overlaps(model, count, &arena)) {
        for (size_t i = 0; i < bytes; i++)
            expected[place_of(model, offset + i) - arena.low] = in[i];
        size_t taken = weft_unpack(arena.at, count, model->type, offset, in, bytes);
        assert_int_equal(taken, bytes);
        if (memcmp(expected, arena.memory, arena.bytes) != 0)
            fail_msg("seed %llu: unpacking %zu bytes at %zu differs", model_seed, bytes, offset);
    }
    free(expected);
    free(in);
    free(arena.memory);
}

static void check_span(const model_t *model, size_t count)
{
    ptrdiff_t offset;
    size_t bytes;
    if (!weft_type_span(model->type, count, &offset, &bytes))
        return;
    assert_int_equal(bytes, count * model->bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(place_of(model, i), offset + (ptrdiff_t)i);
}

/* The whole stream, and parts from every offset of a small stream or some of a large one. */
static void check_streams(const model_t *model, size_t count)
{
    size_t total = count * model->bytes, step = 1 + total / 50;
    check_span(model, count);
    check_pack(model, count, 0, total + 3);
    if (total == 0)
        return;
    check_unpack(model, count, 0, total);
    for (size_t offset = 0; offset < total; offset += step) {
        size_t bytes = 1 + (size_t)model_random((int)(total - offset));
        check_pack(model, count, offset, bytes);
        check_unpack(model, count, offset, bytes);
        check_pack(model, count, offset, 1 + (size_t)model_random(9));
        check_pack(model, count, offset, total);
    }
}

static void random_types_pack_as_their_maps(void **state)
{
    (void)state;
    for (int i = 0; i < 1500; i++) {
        model_seed = (unsigned long long)i * 77 + 5;
        model_t model = model_random_type(1 + i % 4);
        assert_int_equal(weft_type_commit(model.type), MPI_SUCCESS);
        check_streams(&model, 1);
        check_streams(&model, 3);
        model_free(&model);
    }
}

/* Blocks of every length that has a kernel of its own, and of those between. */
static void all_block_lengths(void **state)
{
    (void)state;
    model_t byte = model_basic(MPI_BYTE, 1, 0, 0);
    static const int places[] = {3, 700, 2000, 1340, 2800};
    for (int length = 1; length <= 600; length += length < 140 ? 1 : 37) {
        model_t strided = model_vector(5, length, length + 3, &byte);
        model_t listed = model_indexed_block(5, length, places, &byte);
        weft_type_commit(strided.type);
        weft_type_commit(listed.type);
        assert_int_equal(listed.type->layout.leaf, WEFT_LEAF_BLOCKS);
        check_streams(&strided, 2);
        check_streams(&listed, 2);
        model_free(&strided);
        model_free(&listed);
    }
    model_free(&byte);
}

static void runs_of_all_lengths(void **state)
{
    (void)state;
    model_t byte = model_basic(MPI_BYTE, 1, 0, 0);
    int lengths[70], places[70], place = 0;
    for (int i = 0; i < 70; i++) {
        lengths[i] = i + 1;
        places[i] = place;
        place += i + 3;
    }
    model_t runs = model_indexed(70, lengths, places, &byte);
    weft_type_commit(runs.type);
    assert_int_equal(runs.type->layout.leaf, WEFT_LEAF_RUNS);
    check_streams(&runs, 2);
    model_free(&runs);
    for (int i = 0; i < 60; i += 10) {
        model_t few = model_indexed(10, lengths + i, places + i, &byte);
        weft_type_commit(few.type);
        check_streams(&few, 70);
        model_free(&few);
    }
    model_free(&byte);
}

/* These have a kernel of its own; the last one has no word behind it. */
static void every_other_word_of_any_number(void **state)
{
    (void)state;
    model_t word = model_basic(MPI_INT, 4, 0, 0);
    for (int count = 1; count <= 19; count++) {
        model_t words = model_vector(count, 1, 2, &word);
        weft_type_commit(words.type);
        check_streams(&words, 1);
        check_streams(&words, 3);
        model_free(&words);
    }
    model_free(&word);
}

/* Structs of two members, too: of all pairs of lengths, with the second one in front or behind. */
static void two_members_of_any_lengths(void **state)
{
    (void)state;
    model_t byte = model_basic(MPI_BYTE, 1, 0, 0);
    for (int pair = 0; pair < 9 * 9; pair++) {
        int lengths[] = {1 + pair % 9, 1 + pair / 9};
        int places[] = {pair % 2 == 0 ? 0 : 12, pair % 2 == 0 ? 11 : 1};
        model_t members = model_indexed(2, lengths, places, &byte);
        weft_type_commit(members.type);
        for (size_t count = 1; count <= 70; count = 3 * count + 1)
            check_streams(&members, count);
        model_free(&members);
    }
    model_free(&byte);
}

/* Six dimensions need more levels than a layout has; a struct of two long vectors is too long to be
 * listed block by block. */
static void what_is_too_deep_or_too_long_is_in_parts(void **state)
{
    (void)state;
    model_t number = model_basic(MPI_INT, 4, 0, 0);
    int sizes[] = {3, 4, 3, 4, 3, 4}, subsizes[] = {2, 3, 2, 2, 2, 3},
        starts[] = {1, 0, 1, 1, 0, 1};
    weft_subarray_t subarray = {6, MPI_ORDER_FORTRAN, weft_counts_int(sizes),
                                weft_counts_int(subsizes), weft_counts_int(starts)};
    model_t deep = model_subarray(&subarray, &number);
    model_t rows = model_vector(300, 1, 2, &number), columns = model_vector(170, 2, 3, &number);
    const model_t *members[] = {&rows, &columns};
    int blocks[] = {2, 1};
    MPI_Aint places[] = {8, 6000};
    model_t longer = model_struct(2, blocks, places, members);
    model_t nested = model_vector(2, 1, 2, &longer);
    weft_type_commit(deep.type);
    weft_type_commit(nested.type);
    assert_int_equal(deep.type->layout.leaf, WEFT_LEAF_PARTS);
    assert_int_equal(nested.type->layout.leaf, WEFT_LEAF_PARTS);
    check_streams(&deep, 2);
    check_streams(&nested, 2);
    model_free(&nested);
    model_free(&longer);
    model_free(&rows);
    model_free(&columns);
    model_free(&deep);
    model_free(&number);
}

/* Few runs in all, but many for each member, and of two lengths. */
static void members_of_many_blocks_stay_parts(void **state)
{
    (void)state;
    model_t number = model_basic(MPI_INT, 4, 0, 0);
    const int blocks[] = {1, 1};
    const MPI_Aint places[] = {0, 4000};
    for (int length = 14; length <= 18; length++) {
        model_t rows = model_vector(length, 1, 2, &number),
                columns = model_vector(length, 2, 3, &number);
        const model_t *members[] = {&rows, &columns};
        model_t both = model_struct(2, blocks, places, members);
        weft_type_commit(both.type);
        assert_int_equal(both.type->layout.leaf, length < 16 ? WEFT_LEAF_RUNS : WEFT_LEAF_PARTS);
        check_streams(&both, 3);
        model_free(&both);
        model_free(&rows);
        model_free(&columns);
    }
    model_free(&number);
}

static void copies_stop_at_the_shorter_stream(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        model_seed = (unsigned long long)i * 31 + 7;
        model_t from = model_random_type(1 + i % 3), to = model_random_type(1 + i % 2);
        weft_type_commit(from.type);
        weft_type_commit(to.type);
        size_t from_total = 2 * from.bytes, to_total = 3 * to.bytes;
        arena_t source = make_arena(&from, 2), target = make_arena(&to, 3);
        size_t bytes = from_total < to_total ? from_total : to_total;
        assert_int_equal(weft_copy_typed(source.at, 2, from.type, target.at, 3, to.type), bytes);
        for (size_t j = 0; j < bytes && !overlaps(&to, 3, &target); j++)
            assert_int_equal(target.at[place_of(&to, j)], source.at[place_of(&from, j)]);
        free(source.memory);
        free(target.memory);
        model_free(&from);
        model_free(&to);
    }
}

static void long_copies_go_in_pieces(void **state)
{
    enum { COUNT = 40000 };
    (void)state;
    int *source = malloc(3 * COUNT * sizeof(int)), *target = calloc(2 * COUNT, sizeof(int));
    weft_type_t *every_third, *every_second;
    for (int i = 0; i < 3 * COUNT; i++)
        source[i] = i;
    weft_type_vector(COUNT, 1, 3, weft_type_of(MPI_INT), &every_third);
    weft_type_vector(COUNT, 1, 2, weft_type_of(MPI_INT), &every_second);
    weft_type_commit(every_third);
    weft_type_commit(every_second);
    size_t bytes = weft_copy_typed(source, 1, every_third, target, 1, every_second);
    assert_int_equal(bytes, COUNT * sizeof(int));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(target[2 * i], 3 * i);
        assert_int_equal(target[2 * i + 1], 0);
    }
    weft_type_release(every_third);
    weft_type_release(every_second);
    free(source);
    free(target);
}

/* 2^34 bytes of data, which lie in a few bytes of memory: the places in the stream need 64 bits. */
static void streams_beyond_32_bits(void **state)
{
    const MPI_Count blocks = (MPI_Count)1 << 33;
    const size_t total = (size_t)blocks * 2;
    const short memory[] = {1, 2, 3, 4, 5, 6}; /* three elements */
    const int ones[] = {1, 1};
    const MPI_Aint places[] = {0, 2};
    short out[8] = {0};
    weft_type_t *same, *type;
    (void)state;
    weft_type_hvector(blocks, 1, 0, weft_type_of(MPI_SHORT), &same);
    const MPI_Datatype types[] = {weft_type_handle(same), MPI_SHORT};
    weft_type_struct(2, weft_counts_int(ones), weft_counts_aint(places), types, &type);
    assert_int_equal(weft_type_commit(type), MPI_SUCCESS);
    assert_int_equal(type->size, total + 2);
    assert_int_equal(type->true_extent, 4);
    assert_int_equal(weft_type_elements(type, total), blocks);
    assert_int_equal(weft_pack(memory, 1, type, total - 4, out, sizeof(out)), 6);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 2);
    assert_int_equal(weft_pack(memory, 3, type, 2 * total, out, 6), 6);
    assert_int_equal(out[0], 3);
    assert_int_equal(out[1], 4);
    assert_int_equal(out[2], 5);
    weft_type_release(type);
    weft_type_release(same);
}

/* With all that the processor has, and without it. */
static int open_simd(void **state)
{
    (void)state;
    weft_permute_select(weft_simd_is_available(WEFT_SIMD_AVX512) ? WEFT_SIMD_AVX512
                                                                 : WEFT_SIMD_BASE);
    return 0;
}

static int close_simd(void **state)
{
    (void)state;
    weft_permute_select(WEFT_SIMD_BASE);
    return 0;
}

/* Structs of up to 20 members at even places, some longer than a permutation may be. */
static void structs_of_even_members(void **state)
{
    (void)state;
    model_t half = model_basic(MPI_SHORT, 2, 0, 0);
    for (int trial = 0; trial < 300; trial++) {
        int count = 2 + model_random(18), lengths[20], places[20], place = model_random(5) - 2;
        for (int i = 0; i < count; i++) {
            int at = trial % 3 == 0 ? count - 1 - i : i; /* the last one in front */
            lengths[at] = 1 + model_random(3);
            places[at] = place;
            place += lengths[at] + model_random(3);
        }
        model_t members = model_indexed(count, lengths, places, &half);
        weft_type_commit(members.type);
        check_streams(&members, 15 + (size_t)model_random(3));
        check_streams(&members, 40);
        model_free(&members);
    }
    model_free(&half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_pack_as_their_maps),
        cmocka_unit_test_setup_teardown(random_types_pack_as_their_maps, open_simd, close_simd),
        cmocka_unit_test(all_block_lengths),
        cmocka_unit_test(runs_of_all_lengths),
        cmocka_unit_test_setup_teardown(runs_of_all_lengths, open_simd, close_simd),
        cmocka_unit_test(every_other_word_of_any_number),
        cmocka_unit_test(two_members_of_any_lengths),
        cmocka_unit_test_setup_teardown(two_members_of_any_lengths, open_simd, close_simd),
        cmocka_unit_test(structs_of_even_members),
        cmocka_unit_test_setup_teardown(structs_of_even_members, open_simd, close_simd),
        cmocka_unit_test(what_is_too_deep_or_too_long_is_in_parts),
        cmocka_unit_test(members_of_many_blocks_stay_parts),
        cmocka_unit_test(copies_stop_at_the_shorter_stream),
        cmocka_unit_test(long_copies_go_in_pieces),
        cmocka_unit_test(streams_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
