/* SPDX-License-Identifier: BSD-3-Clause */
/* External32 data of random types against their type maps, and of long doubles against the
 * compiler's conversions. */
#include "datatype/external32.h"
#include "datatype/arena.h"
#include "datatype/binary128_private.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void reverse_octets(const unsigned char *in, unsigned char *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[bytes - 1 - i];
}

/* The models have basic elements of 16 bytes for long doubles alone. */
static void convert_basic(const unsigned char *in, unsigned char *out, size_t bytes,
                          bool is_packing)
{
    unsigned char wide[16];
    if (bytes == sizeof(long double) && is_packing) {
        weft_binary128_of((const char *)in, (char *)wide);
        reverse_octets(wide, out, bytes);
    } else if (bytes == sizeof(long double)) {
        reverse_octets(in, wide, bytes);
        weft_binary128_to((const char *)wide, (char *)out);
    } else {
        reverse_octets(in, out, bytes);
    }
}

/* A stream of `count` elements of the model, basic element by basic element. */
static void convert_stream(const model_t *model, size_t count, const unsigned char *in,
                           unsigned char *out, bool is_packing)
{
    size_t begin = 0;
    for (size_t i = 0; i < count * model->bytes; i++) {
        if (model->ends_basic[i % model->bytes]) {
            convert_basic(in + begin, out + begin, i + 1 - begin, is_packing);
            begin = i + 1;
        }
    }
}

static void check_packing(const model_t *model, size_t count, const arena_t *arena)
{
    size_t total = count * model->bytes;
    unsigned char *packed = malloc(total + 1), *expected = malloc(total + 1),
                  *out = malloc(total + 1);
    weft_elements_t elements = {arena->at, count, model->type};
    for (size_t i = 0; i < total; i++)
        packed[i] = arena->at[place_of(model, i)];
    convert_stream(model, count, packed, expected, true);
    out[total] = 0x5a;
    assert_int_equal(weft_external_pack(model->type, count, &elements, (char *)out), MPI_SUCCESS);
    if (memcmp(out, expected, total) != 0 || out[total] != 0x5a)
        fail_msg("seed %llu: external32 of %zu bytes differs", model_seed, total);
    /* The same data, packed before. */
    weft_elements_t bytes = {packed, total, weft_type_of(MPI_BYTE)};
    memset(out, 0, total);
    assert_int_equal(weft_external_pack(model->type, count, &bytes, (char *)out), MPI_SUCCESS);
    assert_int_equal(memcmp(out, expected, total), 0);
    free(packed);
    free(expected);
    free(out);
}

static void check_unpacking(const model_t *model, size_t count, const arena_t *arena)
{
    size_t total = count * model->bytes;
    unsigned char *in = malloc(total + 1), *native = malloc(total + 1),
                  *expected = malloc(arena->bytes);
    weft_elements_t elements = {arena->at, count, model->type};
    for (size_t i = 0; i < total; i++)
        in[i] = (unsigned char)model_random(256);
    convert_stream(model, count, in, native, false);
    memcpy(expected, arena->memory, arena->bytes);
    for (size_t i = 0; i < total; i++)
        expected[place_of(model, i) - arena->low] = native[i];
    assert_int_equal(weft_external_unpack(model->type, count, &elements, (char *)in), MPI_SUCCESS);
    if (memcmp(expected, arena->memory, arena->bytes) != 0)
        fail_msg("seed %llu: unpacking %zu bytes differs", model_seed, total);
    free(in);
    free(native);
    free(expected);
}

static void random_types_are_converted_as_their_maps(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        model_seed = (unsigned long long)i * 61 + 9;
        model_t model = model_random_type(i % 5);
        size_t count = 1 + (size_t)model_random(3) * (size_t)model_random(30);
        assert_int_equal(weft_type_commit(model.type), MPI_SUCCESS);
        assert_int_equal(weft_external_size(model.type), model.bytes);
        arena_t arena = make_arena(&model, count);
        check_packing(&model, count, &arena);
        if (!overlaps(&model, count, &arena))
            check_unpacking(&model, count, &arena);
        free(arena.memory);
        model_free(&model);
    }
}

/* Structs of a long and bytes, DEPTH levels deep, are walked; after that, doubled DOUBLED times,
 * their size is known without a walk. */
static void deep_and_wide_structs(void **state)
{
    enum { DEPTH = 3000, DOUBLED = 40 };
    weft_type_t *type = weft_type_of(MPI_LONG), *outer;
    const int ones[] = {1, 1}, two = 2;
    const MPI_Aint no_place = 0;
    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        const MPI_Aint byte_places[] = {0, 8 + i};
        const MPI_Datatype types[] = {weft_type_handle(type), MPI_BYTE};
        weft_type_struct(2, weft_counts_int(ones), weft_counts_aint(byte_places), types, &outer);
        weft_type_release(type);
        type = outer;
    }
    assert_int_equal(weft_external_size(type), 4 + DEPTH);
    assert_int_equal(weft_type_commit(type), MPI_SUCCESS);
    char *memory = calloc(1, (size_t)type->extent), *out = malloc(4 + DEPTH);
    memory[0] = 0x12;
    for (int i = 0; i < DEPTH; i++)
        memory[8 + i] = (char)(i % 100);
    weft_elements_t elements = {memory, 1, type};
    assert_int_equal(weft_external_pack(type, 1, &elements, out), MPI_SUCCESS);
    assert_int_equal(out[3], 0x12);
    for (int i = 0; i < DEPTH; i++)
        assert_int_equal(out[4 + i], i % 100);
    memset(memory, 0, (size_t)type->extent);
    assert_int_equal(weft_external_unpack(type, 1, &elements, out), MPI_SUCCESS);
    assert_int_equal(memory[0], 0x12);
    assert_int_equal(memory[8 + DEPTH - 1], (DEPTH - 1) % 100);
    for (int i = 0; i < DOUBLED; i++) {
        const MPI_Datatype types[] = {weft_type_handle(type)};
        weft_type_struct(1, weft_counts_int(&two), weft_counts_aint(&no_place), types, &outer);
        weft_type_release(type);
        type = outer;
    }
    assert_int_equal(weft_external_size(type), (size_t)(4 + DEPTH) << DOUBLED);
    weft_type_release(type);
    free(memory);
    free(out);
}

#if LDBL_MANT_DIG == 64 && defined(__SIZEOF_FLOAT128__)

static void check_value(long double value)
{
    union {
        __float128 value;
        char bytes[16];
    } wide = {.bytes = {0}};
    long double padded, back;
    memset(&padded, 0, sizeof(padded));
    padded = value;
    weft_binary128_of((const char *)&padded, wide.bytes);
    if (isnan(value)) {
        assert_true(wide.value != wide.value);
    } else {
        __float128 expected = value;
        assert_memory_equal(wide.bytes, &expected, 16);
    }
    weft_binary128_to(wide.bytes, (char *)&back);
    assert_true(isnan(value) ? isnan(back) : memcmp(&back, &padded, 10) == 0);
}

/* Bits of a binary128 to the nearest long double, as the compiler rounds. */
static void check_bits(uint64_t high, uint64_t low)
{
    union {
        uint64_t words[2];
        char bytes[16];
        __float128 value;
    } wide = {.words = {low, high}};
    long double got, expected = (long double)wide.value;
    weft_binary128_to(wide.bytes, (char *)&got);
    if (isnan(expected))
        assert_true(isnan(got));
    else if (memcmp(&got, &expected, 10) != 0)
        fail_msg("%016llx %016llx becomes %La, not %La", (unsigned long long)high,
                 (unsigned long long)low, got, expected);
}

static uint64_t random_word(void)
{
    uint64_t word = 0;
    for (int i = 0; i < 4; i++)
        word = word << 16 | (uint64_t)model_random(1 << 16);
    return word;
}

static void long_doubles_are_binary128(void **state)
{
    const long double values[] = {0.0L,
                                  -0.0L,
                                  1.0L,
                                  -2.5L,
                                  LDBL_MAX,
                                  -LDBL_MAX,
                                  LDBL_MIN,
                                  LDBL_TRUE_MIN,
                                  -LDBL_TRUE_MIN,
                                  LDBL_MIN - LDBL_TRUE_MIN,
                                  1.0L + LDBL_EPSILON,
                                  HUGE_VALL,
                                  -HUGE_VALL,
                                  (long double)NAN};
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        check_value(values[i]);
    for (int i = 0; i < 200000; i++)
        check_value(ldexpl((long double)(int64_t)random_word(), model_random(32900) - 16500));
}

static void binary128_is_rounded(void **state)
{
    /* Ties, what is next to them, and carries: out of the fraction, to the first normal number, and
     * to infinity. */
    const uint64_t lows[] = {0,
                             (uint64_t)1 << 48,
                             ((uint64_t)1 << 48) + 1,
                             ((uint64_t)1 << 48) - 1,
                             (uint64_t)3 << 48,
                             ((uint64_t)3 << 48) - 1,
                             UINT64_MAX,
                             UINT64_MAX << 48,
                             UINT64_MAX << 49};
    const uint64_t fractions[] = {0, 1, 0xffffffffffff, 0x800000000000};
    const uint64_t exponents[] = {0, 1, 2, 0x3fff, 0x7ffe, 0x7fff, 0x8000, 0xbfff, 0xfffe, 0xffff};
    (void)state;
    for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++) {
        for (size_t f = 0; f < sizeof(fractions) / sizeof(fractions[0]); f++) {
            for (size_t l = 0; l < sizeof(lows) / sizeof(lows[0]); l++)
                check_bits(exponents[e] << 48 | fractions[f], lows[l]);
        }
    }
    for (int i = 0; i < 200000; i++)
        check_bits(random_word(), random_word());
}

#else

static void long_doubles_are_binary128(void **state)
{
    (void)state;
}

static void binary128_is_rounded(void **state)
{
    (void)state;
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_are_converted_as_their_maps),
        cmocka_unit_test(deep_and_wide_structs),
        cmocka_unit_test(long_doubles_are_binary128),
        cmocka_unit_test(binary128_is_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
