/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's packing, unpacking, typed copies and batches of copies, run on the host and compared
 * with pack.h. */
#include "cuda/host_kernels.h"
#include "datatype/arena.h"
#include "datatype/pack.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool was_run[WEFT_KERNEL_COUNT];

static unsigned char *random_memory(size_t bytes)
{
    unsigned char *memory = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)model_random(256);
    return memory;
}

static weft_kernel_end_t typed(const weft_move_shape_t *shape, void *buf, size_t count)
{
    return (weft_kernel_end_t){.shape = shape,
                               .image = shape->image == NULL ? NULL : device_address(shape->image),
                               .buf = device_address(buf),
                               .count = count};
}

static weft_kernel_end_t packed(void *buf)
{
    return (weft_kernel_end_t){.buf = device_address(buf)};
}

static void run_move(const weft_kernel_move_t *move)
{
    weft_kernel_call_t call;
    weft_call_move(move, 1 + (unsigned)model_random(2), &call);
    was_run[call.kernel] = true;
    run_kernel(&call);
}

/* A buffer for a model, `skewed` bytes behind an address that malloc returned. */
typedef struct skewed {
    arena_t arena;
    unsigned char *room, *at;
} skewed_t;

static skewed_t make_skewed(const model_t *model, size_t count)
{
    skewed_t skewed = {.arena = make_arena(model, count)};
    const size_t by = model_random(2) == 0 ? 0 : (size_t)model_random(16);
    skewed.room = malloc(skewed.arena.bytes + 16);
    memcpy(skewed.room + by, skewed.arena.memory, skewed.arena.bytes);
    skewed.at = skewed.room + by - skewed.arena.low;
    return skewed;
}

static void free_skewed(skewed_t *skewed)
{
    free(skewed->room);
    free(skewed->arena.memory);
}

static void check_pack(const model_t *model, const weft_move_shape_t *shape, size_t count,
                       const size_t range[2])
{
    skewed_t from = make_skewed(model, count);
    const size_t bytes = range[1] - range[0],
                 by = model_random(3) == 0 ? (size_t)model_random(16) : 0;
    unsigned char *out = random_memory(bytes + by + 16), *expected = malloc(bytes + by + 16);
    memcpy(expected, out, bytes + by + 16);
    weft_pack(from.at, count, model->type, range[0], expected + by, bytes);
    run_move(
        &(weft_kernel_move_t){packed(out + by), typed(shape, from.at, count), range[0], range[1]});
    for (size_t i = 0; i < bytes + by + 16; i++)
        if (out[i] != expected[i])
            fail_msg("seed %llu: packing [%zu, %zu): byte %zu is %d, not %d", model_seed, range[0],
                     range[1], i - by, out[i], expected[i]);
    free(out);
    free(expected);
    free_skewed(&from);
}

static void check_unpack(const model_t *model, const weft_move_shape_t *shape, size_t count,
                         const size_t range[2])
{
    skewed_t to = make_skewed(model, count);
    const size_t bytes = range[1] - range[0],
                 by = model_random(3) == 0 ? (size_t)model_random(16) : 0;
    unsigned char *in = random_memory(bytes + by);
    if (!overlaps(model, count, &to.arena)) {
        weft_unpack(to.arena.at, count, model->type, range[0], in + by, bytes);
        run_move(
            &(weft_kernel_move_t){typed(shape, to.at, count), packed(in + by), range[0], range[1]});
        if (memcmp(to.at + to.arena.low, to.arena.memory, to.arena.bytes) != 0)
            fail_msg("seed %llu: unpacking [%zu, %zu) differs", model_seed, range[0], range[1]);
    }
    free(in);
    free_skewed(&to);
}

/* The whole stream, and parts of it. */
static void check_ranges(const model_t *model, size_t count)
{
    const size_t total = count * model->bytes;
    weft_move_shape_t shape;
    assert_int_equal(weft_move_shape_create(model->type, &shape), MPI_SUCCESS);
    for (int i = 0; i < 6 && total > 0; i++) {
        size_t range[2] = {0, total};
        if (i > 0) {
            const size_t unit = (size_t)1 << model_random(5);
            range[0] = (size_t)model_random((int)total) / unit * unit;
            range[1] =
                range[0] + ((size_t)model_random((int)(total - range[0])) + unit) / unit * unit;
            range[1] = range[1] < total ? range[1] : total;
        }
        check_pack(model, &shape, count, range);
        check_unpack(model, &shape, count, range);
    }
    weft_move_shape_clear(&shape);
}

static void random_types_move_as_they_are_packed(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        model_seed = (unsigned long long)i * 77 + 5;
        model_t model = model_random_type(1 + i % 4);
        assert_int_equal(weft_type_commit(model.type), MPI_SUCCESS);
        check_ranges(&model, 1);
        check_ranges(&model, 3);
        model_free(&model);
    }
}

/* Blocks of all lengths, of every unit of access. */
static void blocks_of_all_lengths(void **state)
{
    static const MPI_Datatype handles[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE,
                                           MPI_LONG_DOUBLE};
    static const int places[] = {3, 700, 2000, 1340, 2800};
    (void)state;
    for (int i = 0; i < 5; i++) {
        model_t basic = model_basic(handles[i], (size_t)1 << i, 0, 0);
        for (int length = 1; length <= 600; length += length < 20 ? 1 : 97) {
            model_t strided = model_vector(5, length, length + 3, &basic);
            model_t listed = model_indexed_block(5, length, places, &basic);
            weft_type_commit(strided.type);
            weft_type_commit(listed.type);
            check_ranges(&strided, 2);
            check_ranges(&listed, 2);
            model_free(&strided);
            model_free(&listed);
        }
        model_free(&basic);
    }
}

static void runs_of_all_lengths(void **state)
{
    (void)state;
    model_t basic = model_basic(MPI_BYTE, 1, 0, 0);
    int lengths[70], places[70], place = 0;
    for (int i = 0; i < 70; i++) {
        lengths[i] = i % 2 == 0 ? i + 1 : 5 * i;
        places[i] = place;
        place += lengths[i] + 3;
    }
    model_t runs = model_indexed(70, lengths, places, &basic);
    weft_type_commit(runs.type);
    check_ranges(&runs, 2);
    model_free(&runs);
    model_free(&basic);
}

/* Nested lists of parts: long rows of bytes, and of numbers of 1 to 16 bytes. */
static void parts(void **state)
{
    static const MPI_Datatype handles[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE,
                                           MPI_LONG_DOUBLE};
    (void)state;
    for (int i = 0; i < 9; i++) {
        const int bytes = 1 << i % 5, block = i < 5 ? 1 : 129;
        model_t basic = model_basic(handles[i % 5], (size_t)bytes, 0, 0);
        model_t run = model_contiguous(block, &basic);
        model_t rows = model_hvector(70, 1, (block + 1) * bytes, &run);
        model_t columns = model_hvector(80, 1, (block + 2) * bytes, &run);
        const model_t *members[] = {&rows, &columns, &rows};
        const ptrdiff_t reach = (rows.ub > columns.ub ? rows.ub : columns.ub) * 2 + 16;
        model_t longer =
            model_struct(3, (int[]){2, 1, 1}, (MPI_Aint[]){32, reach, 2 * reach}, members);
        model_t nested = model_vector(2, 1, 2, &longer);
        weft_type_commit(nested.type);
        assert_int_equal(nested.type->layout.leaf, WEFT_LEAF_PARTS);
        check_ranges(&nested, 1);
        check_ranges(&nested, 2);
        model_free(&nested);
        model_free(&longer);
        model_free(&columns);
        model_free(&rows);
        model_free(&run);
        model_free(&basic);
    }
}

/* Every third number, and more numbers than the threads of a launch move at once. */
static model_t long_vector(MPI_Datatype handle, size_t bytes)
{
    enum { COUNT = 12000 };
    model_t model = {.bytes = COUNT * bytes, .ub = (ptrdiff_t)(3 * COUNT - 2) * (ptrdiff_t)bytes};
    model.place = malloc(model.bytes * sizeof(*model.place));
    for (size_t i = 0; i < model.bytes; i++)
        model.place[i] = (ptrdiff_t)(i / bytes * 3 * bytes + i % bytes);
    weft_type_vector(COUNT, 1, 3, weft_type_of(handle), &model.type);
    weft_type_commit(model.type);
    return model;
}

static void long_streams(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        static const MPI_Datatype handles[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE, MPI_LONG_DOUBLE};
        static const size_t bytes[] = {1, 4, 8, 16};
        model_t every_third = long_vector(handles[i], bytes[i]);
        check_ranges(&every_third, 1);
        model_free(&every_third);
    }
}

static void every_kernel_of_moves_was_run(void **state)
{
    (void)state;
    for (int i = WEFT_KERNEL_move_1; i <= WEFT_KERNEL_move_spans_parts; i++)
        if (!was_run[i])
            fail_msg("no test has run %s", weft_kernel_names[i]);
}

static void between_two_types(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++) {
        model_seed = (unsigned long long)i * 31 + 7;
        model_t from = model_random_type(1 + i % 3), to = model_random_type(1 + i % 2);
        weft_type_commit(from.type);
        weft_type_commit(to.type);
        weft_move_shape_t from_shape, to_shape;
        weft_move_shape_create(from.type, &from_shape);
        weft_move_shape_create(to.type, &to_shape);
        const size_t from_total = 2 * from.bytes, to_total = 3 * to.bytes;
        const size_t bytes = from_total < to_total ? from_total : to_total;
        skewed_t source = make_skewed(&from, 2), target = make_skewed(&to, 3);
        if (bytes > 0 && !overlaps(&to, 3, &target.arena)) {
            weft_copy_typed(source.at, 2, from.type, target.arena.at, 3, to.type);
            run_move(&(weft_kernel_move_t){typed(&to_shape, target.at, 3),
                                           typed(&from_shape, source.at, 2), 0, bytes});
            if (memcmp(target.at + target.arena.low, target.arena.memory, target.arena.bytes) != 0)
                fail_msg("seed %llu: the copy of %zu bytes differs", model_seed, bytes);
        }
        free_skewed(&source);
        free_skewed(&target);
        weft_move_shape_clear(&from_shape);
        weft_move_shape_clear(&to_shape);
        model_free(&from);
        model_free(&to);
    }
}

/* A type may use one type many times, and that type another: the image has each of them once. */
static void shared_parts_are_written_once(void **state)
{
    enum { DEPTH = 24 };
    (void)state;
    weft_type_t *types[DEPTH];
    weft_move_shape_t shape;
    weft_type_vector(1000, 1, 2, weft_type_of(MPI_INT), &types[0]);
    for (int i = 1; i < DEPTH; i++) {
        MPI_Datatype two[] = {weft_type_handle(types[i - 1]), weft_type_handle(types[i - 1])};
        const MPI_Aint places[] = {0, types[i - 1]->extent * 2};
        weft_type_struct(2, weft_counts_int((int[]){1, 2}), weft_counts_aint(places), two,
                         &types[i]);
    }
    weft_type_commit(types[DEPTH - 1]);
    assert_int_equal(weft_move_shape_create(types[DEPTH - 1], &shape), MPI_SUCCESS);
    assert_true(shape.has_parts);
    assert_true(shape.image_bytes < DEPTH * 1000);
    weft_move_shape_clear(&shape);
    for (int i = DEPTH - 1; i >= 0; i--)
        weft_type_release(types[i]);
}

/* Types that are nested deeper than recursion could go on the stack of a process. */
static void deep_nests_have_a_shape(void **state)
{
    enum { DEPTH = 50000 };
    (void)state;
    weft_move_shape_t shape;
    weft_type_t *type = weft_type_of(MPI_BYTE), *outer;
    for (int i = 0; i < DEPTH; i++) {
        const MPI_Aint places[] = {0, 3 * i + 3 + i % 2};
        const MPI_Datatype two[] = {weft_type_handle(type), MPI_BYTE};
        weft_type_struct(2, weft_counts_int((int[]){1, 1}), weft_counts_aint(places), two, &outer);
        weft_type_release(type);
        type = outer;
    }
    weft_type_commit(type);
    assert_int_equal(weft_move_shape_create(type, &shape), MPI_SUCCESS);
    assert_true(shape.has_parts);
    assert_int_equal(shape.run_bytes, 1);
    weft_move_shape_clear(&shape);
    weft_type_release(type);
}

static void divisions_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        model_seed += (unsigned long long)i;
        const uint64_t bits =
            (uint64_t)model_random(1 << 30) << 32 | (uint64_t)model_random(1 << 30) << 2;
        const uint64_t value = i < 300 ? (uint64_t)i + 1 : (bits >> model_random(60)) + 1;
        const uint64_t most = ((uint64_t)1 << 63) - 1, near = most / value * value;
        const uint64_t tried[] = {
            0, value - 1, value, near - 1, near, most, bits >> model_random(40)};
        const weft_divisor_t by = weft_divisor_of(value);
        for (size_t j = 0; j < sizeof(tried) / sizeof(tried[0]); j++) {
            const uint64_t n = tried[j] & most;
            const uint64_t q =
                by.magic == 0 ? n : (uint64_t)((unsigned __int128)n * by.magic >> 64) >> by.shift;
            if (q != n / value)
                fail_msg("%" PRIu64 " / %" PRIu64 " is not %" PRIu64, n, value, q);
        }
    }
}

/* ---- batches ---- */

static void check_batch(size_t count, size_t most_bytes)
{
    unsigned char *from = random_memory(count * (most_bytes + 32));
    unsigned char *to = random_memory(count * (most_bytes + 32));
    unsigned char *expected = malloc(count * (most_bytes + 32));
    weft_kernel_copy_t *copies = calloc(count, sizeof(*copies));
    weft_copy_entry_t *list = calloc(count, sizeof(*list));
    memcpy(expected, to, count * (most_bytes + 32));
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * (most_bytes + 32) + (size_t)model_random(16);
        const size_t from_at =
            i * (most_bytes + 32) + (model_random(2) ? at % 16 : (size_t)model_random(16));
        const size_t bytes =
            model_random(4) == 0 ? (size_t)model_random(9) : (size_t)model_random((int)most_bytes);
        copies[i] =
            (weft_kernel_copy_t){device_address(to + at), device_address(from + from_at), bytes};
        memcpy(expected + at, from + from_at, bytes);
    }
    weft_kernel_call_t call;
    weft_call_copies(&(weft_kernel_copies_t){copies, count, list}, 1 + (unsigned)model_random(3),
                     &call);
    if (call.args.copy.list != NULL)
        call.args.copy.list = device_address(call.args.copy.list);
    run_kernel(&call);
    if (memcmp(to, expected, count * (most_bytes + 32)) != 0)
        fail_msg("seed %llu: a batch of %zu copies of up to %zu bytes differs", model_seed, count,
                 most_bytes);
    free(from);
    free(to);
    free(expected);
    free(copies);
    free(list);
}

static void batches_of_copies(void **state)
{
    static const size_t counts[] = {1, 2, 7, 63, 64, 65, 300};
    (void)state;
    for (int i = 0; i < 15; i++) {
        model_seed = (unsigned long long)i * 13 + 3;
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
            check_batch(counts[c], i % 3 == 0 ? 10 : i % 3 == 1 ? 700 : 9000);
    }
    weft_kernel_call_t call;
    weft_call_copies(&(weft_kernel_copies_t){0}, 1, &call);
    assert_int_equal(call.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divisions_are_exact),
        cmocka_unit_test(random_types_move_as_they_are_packed),
        cmocka_unit_test(blocks_of_all_lengths),
        cmocka_unit_test(runs_of_all_lengths),
        cmocka_unit_test(parts),
        cmocka_unit_test(long_streams),
        cmocka_unit_test(every_kernel_of_moves_was_run),
        cmocka_unit_test(between_two_types),
        cmocka_unit_test(shared_parts_are_written_once),
        cmocka_unit_test(deep_nests_have_a_shape),
        cmocka_unit_test(batches_of_copies),
    };
    int missing = open_kernels();
    return missing != 0 ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
