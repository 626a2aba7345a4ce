/* SPDX-License-Identifier: BSD-3-Clause */
/* Types that are nested tens of thousands of levels deep are committed, packed, counted and freed
 * on a stack of ordinary size. */
#include "datatype/envelope.h"
#include "datatype/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 50000, DUPLICATES = 1000000, REPEATED = 3, GAP = 7 };

typedef int (*wrap_fn_t)(weft_type_t *old, int level, weft_type_t **out);

/* `depth` levels around a byte; each level alone holds the one below. */
static weft_type_t *nest(wrap_fn_t wrap, int depth)
{
    weft_type_t *type = weft_type_of(MPI_BYTE);
    for (int level = 0; level < depth; level++) {
        weft_type_t *outer;
        assert_int_equal(wrap(type, level, &outer), MPI_SUCCESS);
        weft_type_release(type);
        type = outer;
    }
    return type;
}

static int duplicate(weft_type_t *old, int level, weft_type_t **out)
{
    (void)level;
    return weft_type_dup(old, out);
}

static int wrap_one(weft_type_t *old, int level, weft_type_t **out)
{
    return level % 2 == 0 ? weft_type_contiguous(1, old, out)
                          : weft_type_hvector(1, 1, 9, old, out);
}

/* No two neighbours are joined, and the steps differ. */
static MPI_Count place_at(int level)
{
    return 3 * (MPI_Count)(level + 1) + level % 2;
}

/* What is below, and a byte: the runs are too many to be written out. */
static int append_byte(weft_type_t *old, int level, weft_type_t **out)
{
    const int counts[2] = {1, 1};
    const MPI_Aint places[2] = {0, (MPI_Aint)place_at(level)};
    const MPI_Datatype types[2] = {weft_type_handle(old), MPI_BYTE};
    return weft_type_struct(2, weft_counts_int(counts), weft_counts_aint(places), types, out);
}

static void duplicates_are_freed(void **state)
{
    (void)state;
    weft_type_release(nest(duplicate, DUPLICATES));
}

static void wrappers_are_committed(void **state)
{
    (void)state;
    weft_type_t *type = nest(wrap_one, DEPTH);
    assert_int_equal(weft_type_commit(type), MPI_SUCCESS);
    assert_true(type->is_dense);
    assert_int_equal(weft_type_elements(type, 5), 5);
    assert_int_equal(weft_type_element_bytes(type, 5), 5);
    weft_type_release(type);
}

static size_t place_of_byte(size_t byte, MPI_Aint extent)
{
    size_t element = byte / (DEPTH + 1), rest = byte % (DEPTH + 1);
    return element * (size_t)extent + (rest == 0 ? 0 : (size_t)place_at((int)rest - 1));
}

static void check_part(const weft_type_t *type, char *memory, size_t offset, size_t bytes)
{
    char *out = malloc(bytes + 1);
    assert_int_equal(weft_pack(memory, REPEATED, type, offset, out, bytes), bytes);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(out[i], memory[place_of_byte(offset + i, type->extent)]);
    memset(out, 0x33, bytes);
    char *copy = malloc(REPEATED * (size_t)type->extent);
    memcpy(copy, memory, REPEATED * (size_t)type->extent);
    assert_int_equal(weft_unpack(copy, REPEATED, type, offset, out, bytes), bytes);
    for (size_t i = 0; i < REPEATED * (size_t)(DEPTH + 1); i++) {
        size_t place = place_of_byte(i, type->extent);
        bool is_within = i >= offset && i < offset + bytes;
        assert_int_equal(copy[place], is_within ? 0x33 : memory[place]);
    }
    free(copy);
    free(out);
}

static void structs_are_packed(void **state)
{
    (void)state;
    const size_t total = REPEATED * (size_t)(DEPTH + 1);
    weft_type_t *type = nest(append_byte, DEPTH);
    assert_int_equal(weft_type_commit(type), MPI_SUCCESS);
    assert_int_equal(type->size, DEPTH + 1);
    char *memory = malloc(REPEATED * (size_t)type->extent);
    for (size_t at = 0; at < REPEATED * (size_t)type->extent; at++)
        memory[at] = (char)(at * GAP % 113);
    check_part(type, memory, 0, total);
    check_part(type, memory, 1, 1);
    check_part(type, memory, DEPTH / 2, DEPTH);
    check_part(type, memory, DEPTH + 1, 300);
    check_part(type, memory, total - 2, 2);
    assert_int_equal(weft_type_elements(type, total - 7), total - 7);
    assert_int_equal(weft_type_element_bytes(type, (MPI_Count)(total - 7)), total - 7);
    free(memory);
    weft_type_release(type);
}

static void contents_of_one_level(void **state)
{
    (void)state;
    weft_type_t *type = nest(duplicate, DEPTH);
    weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
    MPI_Datatype inner;
    assert_int_equal(sizes.types, 1);
    weft_envelope_contents(type, &(weft_contents_t){.types = &inner});
    weft_type_release(type);
    type = weft_type_of(inner);
    assert_non_null(type);
    assert_int_equal(type->size, 1);
    weft_type_release(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duplicates_are_freed), cmocka_unit_test(wrappers_are_committed),
        cmocka_unit_test(structs_are_packed), cmocka_unit_test(contents_of_one_level)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_types_close();
    return failed;
}
