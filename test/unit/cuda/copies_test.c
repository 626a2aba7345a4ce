/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of copies on the simulated driver: what moves by one kernel, and what by copies of the
 * driver. */
#include "cuda/kernels/kernel_image.h"
#include "cuda/kernels/kernel_args.h"
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { KIB = 1024, MIB = 1024 * KIB, BYTES = 36 * MIB };

static weft_device_t *device;
static weft_queue_t *queue;
static unsigned char *slot; /* pinned; one byte for each piece */
static char *from, *to;
static weft_piece_t pieces[WEFT_COPY_ENTRIES + 1];

static unsigned long launches(const char *prefix)
{
    unsigned long (*calls_of)(const char *);
    *(void **)&calls_of = dlsym(loaded_driver, "simLaunches");
    return calls_of(prefix);
}

static int begin(void **state)
{
    weft_memory_t about;
    (void)state;
    from = take_device(BYTES);
    to = take_device(BYTES);
    if (weft_device->look(from, &about) != MPI_SUCCESS)
        return 1;
    device = about.device;
    queue = weft_device->queue(device, WEFT_STREAM_BULK);
    slot = weft_device->take_pinned(device, WEFT_COPY_ENTRIES + 1);
    return queue == NULL || slot == NULL;
}

static int end(void **state)
{
    (void)state;
    weft_device->give_pinned(slot);
    give_device(from);
    give_device(to);
    return 0;
}

/* Lays out pieces of `bytes` bytes, in the other order at their end. */
static void lay_out(size_t bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pieces[i] = (weft_piece_t){to + (count - 1 - i) * bytes, from + i * bytes, bytes};
}

/* Copies them, and compares the last byte of each. */
static void copy_pieces(size_t count, bool are_local)
{
    for (size_t i = 0; i < count; i++)
        slot[i] = (unsigned char)(1 + i % 250);
    for (size_t i = 0; i < count; i++)
        weft_device->copy(queue, (char *)pieces[i].from + pieces[i].bytes - 1, slot + i, 1);
    assert_int_equal(weft_device->copy_many(queue, pieces, count, are_local), MPI_SUCCESS);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
    for (size_t i = 0; i < count; i++)
        weft_device->copy(queue, slot + i, (char *)pieces[i].to + pieces[i].bytes - 1, 1);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(slot[i], 1 + i % 250);
}

/* Pieces of equal length are copied by so many launches; where that is 0, by the driver. */
static void expect_launches(size_t bytes, size_t count, bool are_local, unsigned long wanted)
{
    const unsigned long kernels = launches("weft_copy_batch"), copies = launches("cuMemcpyAsync");
    lay_out(bytes, count);
    copy_pieces(count, are_local);
    assert_int_equal(launches("weft_copy_batch") - kernels, wanted);
    assert_int_equal(launches("cuMemcpyAsync") - copies, 2 * count + (wanted == 0 ? count : 0));
}

static void small_pieces_move_by_one_kernel(void **state)
{
    (void)state;
    expect_launches(256 * KIB, 4, false, 1);
    expect_launches(256 * KIB, 4, true, 1);
    expect_launches(100, WEFT_COPY_ENTRIES, true, 1);
    expect_launches(100, WEFT_COPY_ENTRIES + 1, true, 2);
}

static void large_pieces_do_so_within_a_device(void **state)
{
    (void)state;
    expect_launches(256 * KIB + 4, 4, false, 0);
    expect_launches(256 * KIB + 4, 4, true, 1);
    expect_launches(8 * MIB, 4, true, 1);
    expect_launches(8 * MIB + 4, 4, true, 0);
}

static void a_single_piece_is_a_copy(void **state)
{
    (void)state;
    expect_launches(100, 1, true, 0);
    expect_launches(MIB, 1, true, 0);
}

/* A kernel shares the bytes out evenly, so a large piece among others is none of its own. */
static void pieces_of_all_lengths_go_together(void **state)
{
    (void)state;
    const unsigned long kernels = launches("weft_copy_batch");
    lay_out(MIB, 6);
    pieces[2].bytes = 3;
    pieces[4].bytes = 0;
    pieces[5] = (weft_piece_t){to + 8 * MIB, from + 8 * MIB, 20 * MIB};
    weft_piece_t none = pieces[4];
    pieces[4] = pieces[5];
    copy_pieces(5, true);
    assert_int_equal(launches("weft_copy_batch") - kernels, 1);
    pieces[0] = none;
    assert_int_equal(weft_device->copy_many(queue, pieces, 2, true), MPI_SUCCESS);
    assert_int_equal(weft_queue_wait(queue), MPI_SUCCESS);
}

/* The threads of the driver, which have run kernels, end together with the process, and the leak
 * check of clang 14 may crash on that. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_pieces_move_by_one_kernel),
        cmocka_unit_test(large_pieces_do_so_within_a_device),
        cmocka_unit_test(a_single_piece_is_a_copy),
        cmocka_unit_test(pieces_of_all_lengths_go_together),
    };
    if (weft_fatbin_bytes == 0) {
        printf("built without nvcc: the driver does all copies\n");
        return SKIPPED;
    }
    open_all("count;late=0");
    int failed = cmocka_run_group_tests(tests, begin, end);
    weft_cuda_close();
    return failed;
}
