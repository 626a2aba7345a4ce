/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel that scales, run on the host: all types, multiplied and divided, with the factor in
 * the arguments and on the device, at all alignments, in place and not, with guards around the
 * result. Each element is compared with the same operation here.
 */
#include "cuda/host_kernels.h"
#include "datatype/small_float.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_COUNT = 100, GUARD = 32, ROOM = 2 * GUARD + 8 * MOST_COUNT, PROCESSORS = 2 };

typedef struct number {
    uint64_t bits; /* as the arguments have a factor */
    unsigned char item[8];
} number_t;

/* ---- the same here ---- */

#define NUMBER_CASES(name, item_t, wide_t)                                                         \
    static size_t bytes_##name(void)                                                               \
    {                                                                                              \
        return sizeof(item_t);                                                                     \
    }                                                                                              \
    static number_t make_##name(int value)                                                         \
    {                                                                                              \
        number_t number = {0};                                                                     \
        item_t item = LOWER_##name((wide_t)value);                                                 \
        wide_t wide = RAISE_##name(item);                                                          \
        memcpy(number.item, &item, sizeof(item));                                                  \
        memcpy(&number.bits, &wide, sizeof(wide));                                                 \
        return number;                                                                             \
    }                                                                                              \
    static void scale_##name(void *to, const void *from, const void *factor_at, bool divides)      \
    {                                                                                              \
        item_t item, factor;                                                                       \
        memcpy(&item, from, sizeof(item));                                                         \
        memcpy(&factor, factor_at, sizeof(factor));                                                \
        wide_t a = RAISE_##name(item), b = RAISE_##name(factor);                                   \
        item = LOWER_##name(divides ? a / b : TIMES_##name(a, b));                                 \
        memcpy(to, &item, sizeof(item));                                                           \
    }

#define KEEP(x)          (x)
#define TIMES(a, b)      ((a) * (b))
#define WRAPPED(a, b)    ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define RAISE_I8(x)      KEEP(x)
#define RAISE_U8(x)      KEEP(x)
#define RAISE_I32(x)     KEEP(x)
#define RAISE_U32(x)     KEEP(x)
#define RAISE_I64(x)     KEEP(x)
#define RAISE_U64(x)     KEEP(x)
#define RAISE_F32(x)     KEEP(x)
#define RAISE_F64(x)     KEEP(x)
#define RAISE_F16(x)     weft_float_of_F16(x)
#define RAISE_BF16(x)    weft_float_of_BF16(x)
#define RAISE_E4M3(x)    weft_float_of_E4M3(x)
#define RAISE_E5M2(x)    weft_float_of_E5M2(x)
#define LOWER_I8(x)      ((int8_t)(x))
#define LOWER_U8(x)      ((uint8_t)(x))
#define LOWER_I32(x)     ((int32_t)(x))
#define LOWER_U32(x)     ((uint32_t)(x))
#define LOWER_I64(x)     KEEP(x)
#define LOWER_U64(x)     KEEP(x)
#define LOWER_F32(x)     KEEP(x)
#define LOWER_F64(x)     KEEP(x)
#define LOWER_F16(x)     weft_F16_of_float(x)
#define LOWER_BF16(x)    weft_BF16_of_float(x)
#define LOWER_E4M3(x)    weft_E4M3_of_float(x)
#define LOWER_E5M2(x)    weft_E5M2_of_float(x)
#define TIMES_I8(a, b)   WRAPPED(a, b)
#define TIMES_I32(a, b)  WRAPPED(a, b)
#define TIMES_I64(a, b)  WRAPPED(a, b)
#define TIMES_U8(a, b)   TIMES(a, b)
#define TIMES_U32(a, b)  TIMES(a, b)
#define TIMES_U64(a, b)  TIMES(a, b)
#define TIMES_F32(a, b)  TIMES(a, b)
#define TIMES_F64(a, b)  TIMES(a, b)
#define TIMES_F16(a, b)  TIMES(a, b)
#define TIMES_BF16(a, b) TIMES(a, b)
#define TIMES_E4M3(a, b) TIMES(a, b)
#define TIMES_E5M2(a, b) TIMES(a, b)

WEFT_SCALED(NUMBER_CASES)

typedef struct kind {
    size_t (*bytes)(void);
    number_t (*make)(int value);
    void (*scale)(void *to, const void *from, const void *factor_at, bool divides);
} kind_t;

static const kind_t kinds[] = {
#define KIND_OF(name, item_t, wide_t)                                                              \
    [WEFT_SCALED_##name] = {bytes_##name, make_##name, scale_##name},
    WEFT_SCALED(KIND_OF)};

/* ---- a launch ---- */

typedef struct shape {
    weft_scaled_t type;
    size_t count, from_off, to_off;
    int factor;
    bool divides, is_in_place, is_on_device;
} shape_t;

static _Alignas(64) unsigned char source[ROOM], result[ROOM], wanted[ROOM];

static void fill_source(const kind_t *kind, const shape_t *shape)
{
    memset(source, 0xa5, sizeof(source));
    memset(result, 0xa5, sizeof(result));
    for (size_t i = 0; i < shape->count; i++) {
        number_t number = kind->make((int)(i * 37 % 101) - 40);
        memcpy(source + GUARD + shape->from_off + i * kind->bytes(), number.item, kind->bytes());
    }
    memcpy(wanted, shape->is_in_place ? source : result, sizeof(wanted));
}

static void check_shape(const shape_t *shape)
{
    const kind_t *kind = &kinds[shape->type];
    _Alignas(16) number_t factor = kind->make(shape->factor);
    unsigned char *from = source + GUARD + shape->from_off;
    unsigned char *to = shape->is_in_place ? from : result + GUARD + shape->to_off;
    weft_kernel_call_t call;
    fill_source(kind, shape);
    unsigned char *expected = wanted + (to - (shape->is_in_place ? source : result));
    for (size_t i = 0; i < shape->count; i++)
        kind->scale(expected + i * kind->bytes(), from + i * kind->bytes(), factor.item,
                    shape->divides);
    weft_kernel_scaling_t scaling = {.type = shape->type,
                                     .is_division = shape->divides,
                                     .count = shape->count,
                                     .from = device_address(from),
                                     .to = device_address(to),
                                     .factor_at =
                                         shape->is_on_device ? device_address(factor.item) : NULL,
                                     .factor = factor.bits};
    weft_call_scaling(&scaling, PROCESSORS, &call);
    run_kernel(&call);
    assert_memory_equal(shape->is_in_place ? source : result, wanted, sizeof(wanted));
}

static void every_type_at_every_alignment(void **state)
{
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, MOST_COUNT};
    (void)state;
    for (int way = 0; way < 8; way++) {
        for (size_t off = 0; off < 16; off++) {
            for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) * 10; i++) {
                shape_t shape = {.type = (weft_scaled_t)(1 + i % 10),
                                 .count = counts[i / 10],
                                 .from_off = off,
                                 .to_off = off * (size_t)(way + 1) % 16,
                                 .factor = 3 + way,
                                 .divides = (way & 1) != 0,
                                 .is_in_place = (way & 2) != 0,
                                 .is_on_device = (way & 4) != 0};
                check_shape(&shape);
            }
        }
    }
}

static void negative_factors(void **state)
{
    (void)state;
    for (int type = 1; type <= WEFT_SCALED_BF16; type++) {
        shape_t shape = {
            .type = (weft_scaled_t)type, .count = MOST_COUNT, .factor = -7, .is_on_device = true};
        check_shape(&shape);
        shape.is_on_device = false;
        check_shape(&shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_at_every_alignment),
        cmocka_unit_test(negative_factors),
    };
    int missing = open_kernels();
    return missing != 0 ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
