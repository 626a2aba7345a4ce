/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of one instruction set. The file is compiled once for each set, with WEFT_OP_KERNELS
 * as the name of the table. Every kernel has three addresses; the one with two calls it.
 */
#include "datatype/op_kernels_private.h"
#include "datatype/small_float.h"
#ifdef __F16C__
#include "datatype/small_float_vectors_private.h"
#else
#include "datatype/small_float_plain_private.h"
#endif

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The result may be an operand but never overlaps one in part, so iterations are independent. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A user's buffers have any alignment, and were written as any type. */
#define LOOSE(name, ctype, ...)                                                                    \
    typedef ctype value_##name;                                                                    \
    typedef ctype loose_##name __attribute__((aligned(1), may_alias));
WEFT_UNSIGNED(LOOSE, )
WEFT_SIGNED(LOOSE, )
WEFT_SMALL_FLOATS(LOOSE, )
WEFT_REALS(LOOSE, )
#define LOOSE_PAIR(name, ctype, ...) typedef ctype loose_##name __attribute__((aligned(1)));
WEFT_PAIRS(LOOSE_PAIR, )

/* The form with two addresses. In all kernels p and q are the operands and r is the result. */
#define TWO_ADDRESSES(op, name)                                                                    \
    static void op##_##name##_two(const void *in, void *inout, size_t count)                       \
    {                                                                                              \
        op##_##name(in, inout, inout, count);                                                      \
    }

/* Elements before the first 64-byte boundary of `out`; 0 when a separate loop for them does not
 * pay. Results that straddle cache lines halve the speed of 64-byte vectors (40 against 82 GB/s for
 * sums of 16 KiB), and buffers from malloc begin 16 bytes after a boundary. */
static inline size_t elements_to_boundary(const void *out, size_t bytes, size_t count)
{
    size_t off = -(uintptr_t)out % 64;
    return off % bytes == 0 && count * bytes >= 1024 ? off / bytes : 0;
}

#define SCALAR(name, ctype, op, expression)                                                        \
    static __attribute__((noinline)) void op##_##name##_run(                                       \
        const loose_##name *p, const loose_##name *q, loose_##name *r, size_t count)               \
    {                                                                                              \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                             \
        {                                                                                          \
            const ctype a = p[i], b = q[i];                                                        \
            r[i] = (ctype)(expression);                                                            \
        }                                                                                          \
    }                                                                                              \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        const loose_##name *p = left, *q = right;                                                  \
        loose_##name *r = out;                                                                     \
        const size_t head = elements_to_boundary(out, sizeof(ctype), count);                       \
        if (head > 0)                                                                              \
            op##_##name##_run(p, q, r, head);                                                      \
        op##_##name##_run(p + head, q + head, r + head, count - head);                             \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

/* The last few elements go through arrays with room for as many as are computed at once. */
#define SMALL_FLOAT(name, ctype, op, expression)                                                   \
    static inline void op##_##name##_some(const void *p, const void *q, void *r)                   \
    {                                                                                              \
        const weft_floats_t a = weft_load_##name(p), b = weft_load_##name(q);                      \
        weft_store_##name(r, expression);                                                          \
    }                                                                                              \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        const loose_##name *p = left, *q = right;                                                  \
        loose_##name *r = out;                                                                     \
        const size_t few = count % WEFT_SMALL_FLOATS_AT_ONCE, many = count - few;                  \
        INDEPENDENT for (size_t i = 0; i < many; i += WEFT_SMALL_FLOATS_AT_ONCE)                   \
        {                                                                                          \
            op##_##name##_some(p + i, q + i, r + i);                                               \
        }                                                                                          \
        if (few == 0)                                                                              \
            return;                                                                                \
        value_##name last_p[WEFT_SMALL_FLOATS_AT_ONCE] = {0},                                      \
                     last_q[WEFT_SMALL_FLOATS_AT_ONCE] = {0};                                      \
        memcpy(last_p, p + many, few * sizeof(*last_p));                                           \
        memcpy(last_q, q + many, few * sizeof(*last_q));                                           \
        op##_##name##_some(last_p, last_q, last_p);                                                \
        memcpy(r + many, last_p, few * sizeof(*last_p));                                           \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

#define COMPLEX_SUM(name, part, op, expression)                                                    \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        sum_##part(left, right, out, 2 * count);                                                   \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

/* Products are stored in memory before they are added: gcc 12 would fuse the two operations into
 * fmaddsub, whose result has other bits, in spite of -ffp-contract=off. */
enum { PRODUCTS = 64 };

#define COMPLEX_PROD(name, part, op, expression)                                                   \
    static inline void op##_##name##_few(const loose_##part *p, const loose_##part *q,             \
                                         loose_##part *r, size_t count)                            \
    {                                                                                              \
        value_##part first[2 * PRODUCTS], second[2 * PRODUCTS];                                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            const value_##part a = p[2 * i], b = p[2 * i + 1], c = q[2 * i], d = q[2 * i + 1];     \
            first[2 * i] = a * c;                                                                  \
            first[2 * i + 1] = a * d;                                                              \
            second[2 * i] = b * d;                                                                 \
            second[2 * i + 1] = b * c;                                                             \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            r[2 * i] = first[2 * i] - second[2 * i];                                               \
            r[2 * i + 1] = first[2 * i + 1] + second[2 * i + 1];                                   \
        }                                                                                          \
    }                                                                                              \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        const loose_##part *p = left, *q = right;                                                  \
        loose_##part *r = out;                                                                     \
        for (size_t done = 0; done < count; done += PRODUCTS) {                                    \
            const size_t few = count - done < PRODUCTS ? count - done : PRODUCTS;                  \
            op##_##name##_few(p + 2 * done, q + 2 * done, r + 2 * done, few);                      \
        }                                                                                          \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

/* Products of halves are exact in a float; their sum is rounded to a float, then to a half. */
#define HALF_COMPLEX_PROD(name, part, op, expression)                                              \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        const loose_##part *p = left, *q = right;                                                  \
        loose_##part *r = out;                                                                     \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                             \
        {                                                                                          \
            const float a = weft_float_of_##part(p[2 * i]),                                        \
                        b = weft_float_of_##part(p[2 * i + 1]);                                    \
            const float c = weft_float_of_##part(q[2 * i]),                                        \
                        d = weft_float_of_##part(q[2 * i + 1]);                                    \
            r[2 * i] = weft_##part##_of_float(a * c - b * d);                                      \
            r[2 * i + 1] = weft_##part##_of_float(a * d + b * c);                                  \
        }                                                                                          \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

/* The preferred value and its index; for equal values the lesser index (MPI 5.0, section 6.9.4). */
#define PAIR(name, ctype, op, expression)                                                          \
    static inline bool op##_##name##_prefers(__typeof__(((ctype *)NULL)->value) x,                 \
                                             __typeof__(((ctype *)NULL)->value) y)                 \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    static void op##_##name(const void *left, const void *right, void *out, size_t count)          \
    {                                                                                              \
        const loose_##name *p = left, *q = right;                                                  \
        loose_##name *r = out;                                                                     \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                             \
        {                                                                                          \
            const ctype a = p[i], b = q[i];                                                        \
            const bool is_a = op##_##name##_prefers(a.value, b.value);                             \
            const bool is_b = op##_##name##_prefers(b.value, a.value);                             \
            r[i].value = is_b ? b.value : a.value;                                                 \
            r[i].index = is_a || (!is_b && a.index < b.index) ? a.index : b.index;                 \
        }                                                                                          \
    }                                                                                              \
    TWO_ADDRESSES(op, name)

#define MAKE(op, TYPES, MAKER, expression) TYPES(MAKER, op, expression)
WEFT_KERNELS(MAKE)

/* clang-format off */
#define TWO(name, ctype, op, expr)        [WEFT_OP_##op][WEFT_MACHINE_##name] = op##_##name##_two,
#define THREE(name, ctype, op, expr)      [WEFT_OP_##op][WEFT_MACHINE_##name] = op##_##name,
#define ALL_TWO(op, TYPES, MAKER, expr)   TYPES(TWO, op, expr)
#define ALL_THREE(op, TYPES, MAKER, expr) TYPES(THREE, op, expr)
/* clang-format on */

const weft_op_kernels_t WEFT_OP_KERNELS = {
    .two = {WEFT_KERNELS(ALL_TWO)},
    .three = {WEFT_KERNELS(ALL_THREE)},
};
