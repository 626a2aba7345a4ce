/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every legal (operation, type) on every instruction set of this processor, compared with a plain
 * function for one element; odd counts, unaligned buffers, all ways in which the result may share
 * memory.
 */
#include "datatype/op.h"
#include "datatype/op_kernels_private.h"
#include "datatype/small_float_reference.h"
#include "base/fail.h"
#include "mpix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 2100, SOURCES = 5 };

static unsigned long long seed;

static unsigned random_bits(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33);
}

/* Small numbers, so that there are ties, and sometimes a special one. */
static double random_real(void)
{
    switch (random_bits() % 24) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -0.0;
    default:
        return ((int)(random_bits() % 400) - 200) / 7.0;
    }
}

/* a op b for one element; 0 if the operation is unknown here. */
#define REFERENCE(ctype, expressions)                                                              \
    ctype a, b, r = 0;                                                                             \
    memcpy(&a, left, sizeof(a));                                                                   \
    memcpy(&b, right, sizeof(b));                                                                  \
    switch (kind) {                                                                                \
        expressions default : fail_msg("operation %d", kind);                                      \
    }                                                                                              \
    memcpy(out, &r, sizeof(r));

#define WHEN(name, expression)                                                                     \
    case WEFT_OP_##name:                                                                           \
        r = expression;                                                                            \
        break;

#define WIDEST(x) ((unsigned __int128)(x))
#define INTEGER_CASES(ctype)                                                                       \
    WHEN(sum, (ctype)(WIDEST(a) + WIDEST(b)))                                                      \
    WHEN(prod, (ctype)(WIDEST(a) * WIDEST(b)))                                                     \
    WHEN(min, a < b ? a : b)                                                                       \
    WHEN(max, a < b ? b : a)                                                                       \
    WHEN(band, (ctype)(a & b))                                                                     \
    WHEN(bor, (ctype)(a | b))                                                                      \
    WHEN(bxor, (ctype)(a ^ b))                                                                     \
    WHEN(land, a &&b)                                                                              \
    WHEN(lor, a || b)                                                                              \
    WHEN(lxor, !a != !b)

#define REAL_CASES(ctype)                                                                          \
    WHEN(sum, a + b)                                                                               \
    WHEN(prod, a *b)                                                                               \
    WHEN(min, a != a ? a : b != b || b < a ? b : a)                                                \
    WHEN(max, a != a ? a : b != b || b > a ? b : a)

#define DEFINE_INTEGER(name, ctype, ...)                                                           \
    static void reference_##name(int kind, const void *left, const void *right, void *out)         \
    {                                                                                              \
        REFERENCE(ctype, INTEGER_CASES(ctype))                                                     \
    }                                                                                              \
    static bool same_##name(const void *x, const void *y)                                          \
    {                                                                                              \
        return memcmp(x, y, sizeof(ctype)) == 0;                                                   \
    }                                                                                              \
    static void fill_##name(void *at)                                                              \
    {                                                                                              \
        unsigned bits[4] = {random_bits(), random_bits(), random_bits(), random_bits()};           \
        if (random_bits() % 4 == 0)                                                                \
            memset(bits, 0, sizeof(bits));                                                         \
        memcpy(at, bits, sizeof(ctype));                                                           \
    }
WEFT_UNSIGNED(DEFINE_INTEGER, )
WEFT_SIGNED(DEFINE_INTEGER, )

/* Compares bit for bit, so the sign of zero counts, but one NaN equals another. */
#define DEFINE_REAL(name, ctype, ...)                                                              \
    static void reference_##name(int kind, const void *left, const void *right, void *out)         \
    {                                                                                              \
        REFERENCE(ctype, REAL_CASES(ctype))                                                        \
    }                                                                                              \
    static bool same_##name(const void *x, const void *y)                                          \
    {                                                                                              \
        ctype a, b;                                                                                \
        memcpy(&a, x, sizeof(a));                                                                  \
        memcpy(&b, y, sizeof(b));                                                                  \
        bool is_same = a == b && __builtin_signbit((double)a) == __builtin_signbit((double)b);     \
        return is_same || (a != a && b != b);                                                      \
    }                                                                                              \
    static void fill_##name(void *at)                                                              \
    {                                                                                              \
        ctype value = (ctype)random_real();                                                        \
        memcpy(at, &value, sizeof(value));                                                         \
    }
WEFT_REALS(DEFINE_REAL, )

static void reference_F16(int kind, const void *left, const void *right, void *out)
{
    uint16_t x, y;
    memcpy(&x, left, 2);
    memcpy(&y, right, 2);
    double a = real_of_half(x), b = real_of_half(y), r;
    reference_F64(kind, &a, &b, &r);
    x = half_of_real(r);
    memcpy(out, &x, 2);
}

static void reference_BF16(int kind, const void *left, const void *right, void *out)
{
    float a = float_of_upper(left), b = float_of_upper(right), r;
    reference_F32(kind, &a, &b, &r);
    uint16_t half = upper_of_float(r);
    memcpy(out, &half, 2);
}

static bool same_BF16(const void *x, const void *y)
{
    return memcmp(x, y, 2) == 0 || (isnan(float_of_upper(x)) && isnan(float_of_upper(y)));
}

static bool same_F16(const void *x, const void *y)
{
    uint16_t a, b;
    memcpy(&a, x, 2);
    memcpy(&b, y, 2);
    return a == b || (isnan(real_of_half(a)) && isnan(real_of_half(b)));
}

static void fill_F16(void *at)
{
    uint16_t bits = (uint16_t)random_bits();
    memcpy(at, &bits, 2);
}

static void fill_BF16(void *at)
{
    uint16_t bits = (uint16_t)random_bits();
    if (random_bits() % 2 == 0) /* close to each other, so that sums are rounded */
        bits = (uint16_t)((bits & 0x83ff) | 0x3c00);
    memcpy(at, &bits, 2);
}

#define DEFINE_BYTE(name, fraction)                                                                \
    static void reference_##name(int kind, const void *left, const void *right, void *out)         \
    {                                                                                              \
        float a = real_of_byte(*(const uint8_t *)left, fraction);                                  \
        float b = real_of_byte(*(const uint8_t *)right, fraction), r;                              \
        reference_F32(kind, &a, &b, &r);                                                           \
        *(uint8_t *)out = byte_of_real(r, fraction);                                               \
    }                                                                                              \
    static bool same_##name(const void *x, const void *y)                                          \
    {                                                                                              \
        uint8_t a = *(const uint8_t *)x, b = *(const uint8_t *)y;                                  \
        return a == b || (isnan(real_of_byte(a, fraction)) && isnan(real_of_byte(b, fraction)));   \
    }                                                                                              \
    static void fill_##name(void *at)                                                              \
    {                                                                                              \
        *(uint8_t *)at = (uint8_t)random_bits();                                                   \
    }
DEFINE_BYTE(E4M3, 3)
DEFINE_BYTE(E5M2, 2)

#define PART(at, index, bytes) ((char *)(at) + (index) * (bytes))

/* (a + bi)(c + di) through the reference of the parts: sums and products are rounded one by one. */
#define DEFINE_COMPLEX(name, part, bytes)                                                          \
    static void reference_##name(int kind, const void *left, const void *right, void *out)         \
    {                                                                                              \
        char ac[16], bd[16], ad[16], bc[16];                                                       \
        if (kind == WEFT_OP_sum) {                                                                 \
            reference_##part(kind, left, right, out);                                              \
            reference_##part(kind, PART(left, 1, bytes), PART(right, 1, bytes),                    \
                             PART(out, 1, bytes));                                                 \
            return;                                                                                \
        }                                                                                          \
        reference_##part(kind, left, right, ac);                                                   \
        reference_##part(kind, PART(left, 1, bytes), PART(right, 1, bytes), bd);                   \
        reference_##part(kind, left, PART(right, 1, bytes), ad);                                   \
        reference_##part(kind, PART(left, 1, bytes), right, bc);                                   \
        bd[SIGN_##part] ^= (char)0x80;                                                             \
        reference_##part(WEFT_OP_sum, ac, bd, out);                                                \
        reference_##part(WEFT_OP_sum, ad, bc, PART(out, 1, bytes));                                \
    }                                                                                              \
    static bool same_##name(const void *x, const void *y)                                          \
    {                                                                                              \
        return same_##part(x, y) && same_##part(PART(x, 1, bytes), PART(y, 1, bytes));             \
    }                                                                                              \
    static void fill_##name(void *at)                                                              \
    {                                                                                              \
        fill_##part(at);                                                                           \
        fill_##part(PART(at, 1, bytes));                                                           \
    }
enum { SIGN_F32 = 3, SIGN_F64 = 7, SIGN_FLD = LDBL_MANT_DIG == 64 ? 9 : 15, SIGN_F128 = 15 };
DEFINE_COMPLEX(C32, F32, 4)
DEFINE_COMPLEX(C64, F64, 8)
DEFINE_COMPLEX(CLD, FLD, sizeof(long double))
#define DEFINE_QUAD_COMPLEX(name, part, ...) DEFINE_COMPLEX(name, part, 16)
WEFT_C128(DEFINE_QUAD_COMPLEX, )

/* Halves are multiplied and added as floats and rounded once. */
static void reference_C16(int kind, const void *left, const void *right, void *out)
{
    uint16_t p[2], q[2], r[2];
    memcpy(p, left, 4);
    memcpy(q, right, 4);
    float a = (float)real_of_half(p[0]), b = (float)real_of_half(p[1]);
    float c = (float)real_of_half(q[0]), d = (float)real_of_half(q[1]);
    r[0] = half_of_real(kind == WEFT_OP_sum ? a + c : a * c - b * d);
    r[1] = half_of_real(kind == WEFT_OP_sum ? b + d : a * d + b * c);
    memcpy(out, r, 4);
}

static bool same_C16(const void *x, const void *y)
{
    return same_F16(x, y) && same_F16(PART(x, 1, 2), PART(y, 1, 2));
}

static void fill_C16(void *at)
{
    fill_F16(at);
    fill_F16(PART(at, 1, 2));
}

/* NaN comes before every number; of equals the lesser index is taken. */
#define DEFINE_PAIR(name, ctype, ...)                                                              \
    static void reference_##name(int kind, const void *left, const void *right, void *out)         \
    {                                                                                              \
        ctype a, b;                                                                                \
        memcpy(&a, left, sizeof(a));                                                               \
        memcpy(&b, right, sizeof(b));                                                              \
        bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;                         \
        bool is_equal = a.value == b.value || (a_is_nan && b_is_nan);                              \
        bool is_a = kind == WEFT_OP_minloc ? a.value < b.value : a.value > b.value;                \
        is_a = (is_a && !b_is_nan) || (a_is_nan && !b_is_nan);                                     \
        ctype r = is_equal ? (a.index < b.index ? a : b) : is_a ? a : b;                           \
        memcpy(out, &r, sizeof(r));                                                                \
    }                                                                                              \
    static bool same_##name(const void *x, const void *y)                                          \
    {                                                                                              \
        ctype a, b;                                                                                \
        memcpy(&a, x, sizeof(a));                                                                  \
        memcpy(&b, y, sizeof(b));                                                                  \
        bool is_same = a.value == b.value || (a.value != a.value && b.value != b.value);           \
        return is_same && a.index == b.index;                                                      \
    }                                                                                              \
    static void fill_##name(void *at)                                                              \
    {                                                                                              \
        ctype pair;                                                                                \
        memset(&pair, 0, sizeof(pair));                                                            \
        double value = (double)(int)(random_bits() % 5);                                           \
        pair.value = (__typeof__(pair.value))value;                                                \
        if ((__typeof__(pair.value))0.5 != 0 && random_bits() % 8 == 0)                            \
            pair.value = (__typeof__(pair.value))(0.0 / zero);                                     \
        pair.index = (__typeof__(pair.index))((int)(random_bits() % 100) - 50);                    \
        memcpy(at, &pair, sizeof(pair));                                                           \
    }
static volatile double zero = 0.0;
WEFT_PAIRS(DEFINE_PAIR, )

typedef struct machine {
    void (*reference)(int kind, const void *left, const void *right, void *out);
    bool (*same)(const void *x, const void *y);
    void (*fill)(void *at);
} machine_t;

static const machine_t machines[WEFT_MACHINE_COUNT] = {
#define ENTRY(name, ...) [WEFT_MACHINE_##name] = {reference_##name, same_##name, fill_##name},
    WEFT_UNSIGNED(ENTRY, ) WEFT_SIGNED(ENTRY, ) WEFT_SMALL_FLOATS(ENTRY, ) WEFT_REALS(ENTRY, )
        WEFT_COMPLEXES(ENTRY, ) WEFT_HALF_COMPLEXES(ENTRY, ) WEFT_PAIRS(ENTRY, )};

typedef struct trial {
    const weft_op_t *op;
    const weft_type_t *type;
    const machine_t *machine;
    const char *set;
    size_t count;
    char *in[SOURCES], *out;
} trial_t;

static char *element(const trial_t *trial, char *buf, size_t index)
{
    return buf + index * (size_t)trial->type->extent;
}

static void check_element(const trial_t *trial, const char *form, size_t index, int sources)
{
    char expected[64], next[64];
    memcpy(expected, element(trial, trial->in[0], index), (size_t)trial->type->extent);
    for (int i = 1; i < sources; i++) {
        memset(next, 0, sizeof(next));
        trial->machine->reference(trial->op->kind, expected, element(trial, trial->in[i], index),
                                  next);
        memcpy(expected, next, sizeof(expected));
    }
    if (!trial->machine->same(expected, element(trial, trial->out, index)))
        fail_msg("%s on %s, %s, %s: element %zu of %zu differs", trial->op->name, trial->type->name,
                 trial->set, form, index, trial->count);
}

static void check(const trial_t *trial, const char *form, int sources)
{
    for (size_t i = 0; i < trial->count; i++)
        check_element(trial, form, i, sources);
}

static void copy_source(const trial_t *trial, int source)
{
    memcpy(trial->out, trial->in[source], trial->count * (size_t)trial->type->extent);
}

static void run(const trial_t *trial)
{
    const weft_op_t *op = trial->op;
    const weft_type_t *type = trial->type;
    copy_source(trial, 1);
    weft_op_apply(op, type, trial->in[0], trial->out, trial->count);
    check(trial, "apply", 2);
    weft_op_apply3(op, type, trial->in[0], trial->in[1], trial->out, trial->count);
    check(trial, "apply3", 2);
    copy_source(trial, 0);
    weft_op_apply3(op, type, trial->out, trial->in[1], trial->out, trial->count);
    check(trial, "apply3 over a", 2);
    copy_source(trial, 1);
    weft_op_apply3(op, type, trial->in[0], trial->out, trial->out, trial->count);
    check(trial, "apply3 over b", 2);
    copy_source(trial, 0);
    for (int i = 1; i < SOURCES; i++)
        weft_op_apply3(op, type, trial->out, trial->in[i], trial->out, trial->count);
    check(trial, "apply3 in turn", SOURCES);
}

static void run_counts(trial_t *trial)
{
    static const size_t counts[] = {0, 1, 7, 150, MOST};
    enum { ROOM = 40 + MOST * 32 };
    char *memory = calloc(SOURCES + 1, ROOM);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        trial->count = counts[c];
        for (int i = 0; i < SOURCES; i++) {
            trial->in[i] = memory + i * ROOM + (size_t)(i + (int)c) % 7;
            for (size_t j = 0; j < trial->count; j++)
                trial->machine->fill(element(trial, trial->in[i], j));
        }
        trial->out = memory + SOURCES * ROOM + c % 3;
        run(trial);
    }
    free(memory);
}

static int run_types(const weft_op_t *op, const char *set)
{
    int legal = 0;
    for (uintptr_t value = 0; value < WEFT_PREDEFINED_HANDLES; value++) {
        const weft_type_t *type = weft_type_of((MPI_Datatype)value);
        if (type == NULL || weft_op_check(op, type) != MPI_SUCCESS)
            continue;
        trial_t trial = {.op = op, .type = type, .machine = &machines[type->machine], .set = set};
        run_counts(&trial);
        legal++;
    }
    return legal;
}

static void all_kernels_agree_with_the_reference(void **state)
{
    (void)state;
    for (weft_simd_t set = WEFT_SIMD_BASE; set < WEFT_SIMD_SETS; set++) {
        int legal = 0;
        if (!weft_simd_is_available(set))
            continue;
        weft_op_select(set);
        for (uintptr_t value = 0; value < WEFT_OP_HANDLES; value++) {
            const weft_op_t *op = weft_op_of((MPI_Op)value);
            if (op != NULL)
                legal += run_types(op, weft_simd_name(set));
        }
        assert_true(legal > 300); /* with empty tables the loop would pass */
    }
    weft_op_select(WEFT_SIMD_BASE);
}

/* All pairs of numbers. */
static void floats_of_8_bits_are_rounded_as_defined(void **state)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    static unsigned char left[1 << 16], right[1 << 16], out[1 << 16];
    (void)state;
    for (int i = 0; i < 1 << 16; i++) {
        left[i] = (unsigned char)i;
        right[i] = (unsigned char)(i >> 8);
    }
    for (int i = 0; i < 8 * WEFT_SIMD_SETS; i++) {
        const weft_op_t *op = weft_op_of(ops[i / 2 % 4]);
        const weft_type_t *type = weft_type_of(i % 2 ? MPIX_FLOAT8_E4M3 : MPIX_FLOAT8_E5M2);
        const machine_t *machine = &machines[type->machine];
        if (!weft_simd_is_available((weft_simd_t)(i / 8)))
            continue;
        weft_op_select((weft_simd_t)(i / 8));
        weft_op_apply3(op, type, left, right, out, sizeof(out));
        for (size_t j = 0; j < sizeof(out); j++) {
            unsigned char expected;
            machine->reference(op->kind, &left[j], &right[j], &expected);
            if (!machine->same(&expected, &out[j]))
                fail_msg("%s of %s, %s: %#x and %#x give %#x, not %#x", op->name, type->name,
                         weft_simd_name((weft_simd_t)(i / 8)), left[j], right[j], out[j], expected);
        }
    }
    weft_op_select(WEFT_SIMD_BASE);
}

/* The table of section 6.9.2, written out again, and the pairs that programs ask for beyond it. */
static void legality_is_that_of_the_standard(void **state)
{
    static const struct {
        MPI_Op op;
        MPI_Datatype type;
        bool is_legal;
    } rows[] = {
        {MPI_SUM, MPI_INT, true},          {MPI_SUM, MPI_C_DOUBLE_COMPLEX, true},
        {MPI_SUM, MPI_CHAR, true},         {MPI_SUM, MPI_BYTE, false},
        {MPI_SUM, MPI_COUNT, true},        {MPI_SUM, MPI_C_BOOL, false},
        {MPI_MAX, MPI_COMPLEX, false},     {MPI_MAX, MPI_REAL2, true},
        {MPI_MIN, MPI_AINT, true},         {MPI_MIN, MPI_LOGICAL, false},
        {MPI_BAND, MPI_BYTE, true},        {MPI_BAND, MPI_DOUBLE, false},
        {MPI_BXOR, MPI_INTEGER8, true},    {MPI_BOR, MPI_LOGICAL, false},
        {MPI_LAND, MPI_LOGICAL4, true},    {MPI_LOR, MPI_CXX_BOOL, true},
        {MPI_LXOR, MPI_INT16_T, true},     {MPI_LAND, MPI_INTEGER, false},
        {MPI_LAND, MPI_FLOAT, false},      {MPI_MINLOC, MPI_2REAL, true},
        {MPI_MAXLOC, MPI_LONG_INT, true},  {MPI_MAXLOC, MPI_LONG, false},
        {MPI_SUM, MPI_2INT, false},        {MPI_REPLACE, MPI_INT, false},
        {MPI_SUM, MPIX_BFLOAT16, true},    {MPI_PROD, MPIX_C_FLOAT16, true},
        {MPI_MIN, MPIX_C_FLOAT16, true},   {MPI_MAX, MPIX_BFLOAT16, true},
        {MPI_BAND, MPIX_BFLOAT16, false},  {MPI_LAND, MPIX_C_FLOAT16, false},
        {MPI_SUM, MPIX_FLOAT8_E4M3, true}, {MPI_BAND, MPIX_FLOAT8_E5M2, false},
        {MPI_MAX, MPI_CHAR, true},         {MPI_BXOR, MPI_CHAR, true},
        {MPI_LOR, MPI_CHAR, true},         {MPI_MINLOC, MPI_CHAR, false},
        {MPI_SUM, MPI_WCHAR, false},       {MPI_SUM, MPI_PACKED, false},
        {MPI_LAND, MPI_AINT, true},        {MPI_LXOR, MPI_COUNT, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const weft_op_t *op = weft_op_of(rows[i].op);
        const weft_type_t *type = weft_type_of(rows[i].type);
        int expected = rows[i].is_legal ? MPI_SUCCESS : MPI_ERR_OP;
        if (weft_op_check(op, type) != expected)
            fail_msg("%s on %s: expected %d", op->name, type->name, expected);
    }
    weft_op_check(weft_op_of(MPI_BAND), weft_type_of(MPI_DOUBLE));
    assert_string_equal(weft_fail_text(), "MPI_BAND does not take MPI_DOUBLE");
}

/* Every type of a group that an operation takes has a kernel. */
static void no_kernel_is_missing(void **state)
{
    (void)state;
    for (uintptr_t op_value = 0; op_value < WEFT_OP_HANDLES; op_value++) {
        const weft_op_t *op = weft_op_of((MPI_Op)op_value);
        for (uintptr_t value = 0; op != NULL && value < WEFT_PREDEFINED_HANDLES; value++) {
            const weft_type_t *type = weft_type_of((MPI_Datatype)value);
            if (type == NULL || (op->groups & type->group) == 0)
                continue;
            if (machines[type->machine].fill != NULL && weft_op_kernel(op, type) == NULL)
                fail_msg("no kernel for %s on %s", op->name, type->name);
        }
    }
}

/* 10 * in + inout does not commute, and does not touch the gaps of a type. */
static int calls, greatest;

static void shift(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const weft_type_t *type = weft_type_of(*datatype);
    calls++;
    greatest = *count;
    for (int i = 0; i < *count; i++) {
        int *to = (int *)((char *)inout + i * type->extent);
        *to = 10 * *(int *)((char *)in + i * type->extent) + *to;
    }
}

static void shift_wide(void *in, void *inout, MPI_Count *count, MPI_Datatype *datatype)
{
    int narrow = (int)*count;
    shift(in, inout, &narrow, datatype);
}

static void run_user(const weft_op_t *op, const weft_type_t *type)
{
    int a[] = {1, -7, 2, -7}, b[] = {3, -8, 4, -8}, c[] = {5, -9, 6, -9}, out[] = {0, -1, 0, -1};
    weft_op_apply3(op, type, a, b, out, 2);
    assert_int_equal(out[0], 13);
    assert_int_equal(out[2], 24);
    assert_int_equal(out[1], -1);
    assert_int_equal(weft_op_apply3(op, type, a, b, a, 2), MPI_SUCCESS);
    assert_int_equal(a[0], 13);
    assert_int_equal(a[1], -7);
    a[0] = 1;
    a[2] = 2;
    assert_int_equal(weft_op_apply3(op, type, b, c, c, 2),
                     MPI_SUCCESS); /* from the right: associative */
    assert_int_equal(weft_op_apply3(op, type, a, c, c, 2), MPI_SUCCESS);
    assert_int_equal(c[0], 10 * 1 + (10 * 3 + 5));
    assert_int_equal(c[2], 10 * 2 + (10 * 4 + 6));
    assert_int_equal(c[1], -9);
}

static void functions_of_the_user(void **state)
{
    weft_type_t *spaced;
    weft_op_t *op, *wide;
    (void)state;
    weft_type_resized(weft_type_of(MPI_INT), 0, 8, &spaced);
    weft_type_commit(spaced);
    assert_int_equal(weft_op_create(shift, NULL, false, &op), MPI_SUCCESS);
    assert_int_equal(weft_op_create(NULL, shift_wide, false, &wide), MPI_SUCCESS);
    assert_ptr_equal(weft_op_of(weft_op_handle(op)), op);
    run_user(op, spaced);
    run_user(wide, spaced);
    weft_op_release(wide);
    weft_op_release(op);
    assert_null(weft_op_of((MPI_Op)(void *)op));
    weft_type_release(spaced);
}

static size_t wide_total;

static void count_only(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)in;
    (void)inout;
    (void)datatype;
    calls++;
    wide_total += (size_t)*count;
    *count = 0; /* a user's function may do so */
}

static void int_functions_are_called_in_chunks(void **state)
{
    static char byte;
    weft_op_t *op;
    (void)state;
    weft_op_create(count_only, NULL, true, &op);
    calls = 0;
    weft_op_apply(op, weft_type_of(MPI_BYTE), &byte, &byte, (size_t)5 << 30);
    assert_int_equal(calls, 3);
    assert_int_equal(wide_total, (size_t)5 << 30);
    weft_op_release(op);
}

static void replace_and_no_op(void **state)
{
    double in[] = {1, 2, 3}, inout[] = {4, 5, 6};
    const weft_type_t *type = weft_type_of(MPI_DOUBLE);
    (void)state;
    weft_op_apply(weft_op_of(MPI_NO_OP), type, in, inout, 3);
    assert_true(inout[0] == 4 && inout[2] == 6);
    weft_op_apply(weft_op_of(MPI_REPLACE), type, in, inout, 3);
    assert_true(inout[0] == 1 && inout[2] == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_agree_with_the_reference),
        cmocka_unit_test(floats_of_8_bits_are_rounded_as_defined),
        cmocka_unit_test(legality_is_that_of_the_standard),
        cmocka_unit_test(no_kernel_is_missing),
        cmocka_unit_test(functions_of_the_user),
        cmocka_unit_test(int_functions_are_called_in_chunks),
        cmocka_unit_test(replace_and_no_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
