/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of machine types, of operations, and of the kernels that join them. The enumerations and
 * the test of legality (op.h), the kernels of the processor and their table (op_kernels.c), and the
 * kernels of a device are made from it.
 *
 * A list is a macro that takes a maker X and calls X(machine type, C type, ...) for each member.
 */
#ifndef WEFT_DATATYPE_OP_LIST_H
#define WEFT_DATATYPE_OP_LIST_H

#include <float.h>
#include <stdint.h>

/* clang-format off */

/* Types that only some compilers have. With other compilers they exist, but cannot be reduced. */
#ifdef __SIZEOF_INT128__
#define WEFT_U128(X, ...)       X(U128, unsigned __int128, __VA_ARGS__)
#define WEFT_I128(X, ...)       X(I128, __int128, __VA_ARGS__)
#define WEFT_ABSENT_INTEGERS(X)
#else
#define WEFT_U128(X, ...)
#define WEFT_I128(X, ...)
#define WEFT_ABSENT_INTEGERS(X) X(U128, void) X(I128, void)
#endif
#if defined(__SIZEOF_FLOAT128__) || LDBL_MANT_DIG == 113
#ifdef __SIZEOF_FLOAT128__
typedef __float128 weft_float128_t;
#else
typedef long double weft_float128_t;
#endif
#define WEFT_F128(X, ...)    X(F128, weft_float128_t, __VA_ARGS__)
#define WEFT_C128(X, ...)    X(C128, F128, __VA_ARGS__)
#define WEFT_ABSENT_REALS(X)
#else
#define WEFT_F128(X, ...)
#define WEFT_C128(X, ...)
#define WEFT_ABSENT_REALS(X) X(F128, void) X(C128, void)
#endif

#define WEFT_UNSIGNED(X, ...)                                                                      \
    X(U8, uint8_t, __VA_ARGS__)                                                                    \
    X(U16, uint16_t, __VA_ARGS__)                                                                  \
    X(U32, uint32_t, __VA_ARGS__)                                                                  \
    X(U64, uint64_t, __VA_ARGS__)                                                                  \
    WEFT_U128(X, __VA_ARGS__)

#define WEFT_SIGNED(X, ...)                                                                        \
    X(I8, int8_t, __VA_ARGS__)                                                                     \
    X(I16, int16_t, __VA_ARGS__)                                                                   \
    X(I32, int32_t, __VA_ARGS__)                                                                   \
    X(I64, int64_t, __VA_ARGS__)                                                                   \
    WEFT_I128(X, __VA_ARGS__)

#define WEFT_REALS(X, ...)                                                                         \
    WEFT_REALS_ON_DEVICE(X, __VA_ARGS__)                                                           \
    X(FLD, long double, __VA_ARGS__)                                                               \
    WEFT_F128(X, __VA_ARGS__)

/* Floats of 16 and 8 bits (small_float.h), held as their bits: not every compiler has the types. */
#define WEFT_SMALL_FLOATS(X, ...)                                                                  \
    X(F16, uint16_t, __VA_ARGS__)                                                                  \
    X(BF16, uint16_t, __VA_ARGS__)                                                                 \
    X(E4M3, uint8_t, __VA_ARGS__)                                                                  \
    X(E5M2, uint8_t, __VA_ARGS__)

/* The second column is the machine type of the two parts. */
#define WEFT_COMPLEXES(X, ...)                                                                     \
    WEFT_COMPLEXES_ON_DEVICE(X, __VA_ARGS__)                                                       \
    X(CLD, FLD, __VA_ARGS__)                                                                       \
    WEFT_C128(X, __VA_ARGS__)

#define WEFT_HALF_COMPLEXES(X, ...) X(C16, F16, __VA_ARGS__)

/* The C types of value and index. */
#define WEFT_PAIRS(X, ...)                                                                         \
    WEFT_PAIRS_ON_DEVICE(X, __VA_ARGS__)                                                           \
    X(FLD_I32, weft_long_double_int_t, __VA_ARGS__)

/* The members of the lists above that a GPU can compute with: not long double, not __float128. */
#define WEFT_UNSIGNED_ON_DEVICE(X, ...)       WEFT_UNSIGNED(X, __VA_ARGS__)
#define WEFT_SIGNED_ON_DEVICE(X, ...)         WEFT_SIGNED(X, __VA_ARGS__)
#define WEFT_SMALL_FLOATS_ON_DEVICE(X, ...)   WEFT_SMALL_FLOATS(X, __VA_ARGS__)
#define WEFT_HALF_COMPLEXES_ON_DEVICE(X, ...) WEFT_HALF_COMPLEXES(X, __VA_ARGS__)
#define WEFT_REALS_ON_DEVICE(X, ...)                                                               \
    X(F32, float, __VA_ARGS__)                                                                     \
    X(F64, double, __VA_ARGS__)
#define WEFT_COMPLEXES_ON_DEVICE(X, ...)                                                           \
    X(C32, F32, __VA_ARGS__)                                                                       \
    X(C64, F64, __VA_ARGS__)
#define WEFT_PAIRS_ON_DEVICE(X, ...)                                                               \
    X(F32_I32, weft_float_int_t, __VA_ARGS__)                                                      \
    X(F64_I32, weft_double_int_t, __VA_ARGS__)                                                     \
    X(I64_I32, weft_long_int_t, __VA_ARGS__)                                                       \
    X(I32_I32, weft_2int_t, __VA_ARGS__)                                                           \
    X(I16_I32, weft_short_int_t, __VA_ARGS__)                                                      \
    X(F32_F32, weft_2real_t, __VA_ARGS__)                                                          \
    X(F64_F64, weft_2double_precision_t, __VA_ARGS__)

/* The structs that a C program declares for the pair types (MPI 5.0, section 6.9.4). */
#define WEFT_DECLARE_PAIR(name, value_type, index_type)                                            \
    typedef struct __attribute__((may_alias)) {                                                    \
        value_type value;                                                                          \
        index_type index;                                                                          \
    } name;
WEFT_DECLARE_PAIR(weft_float_int_t, float, int)
WEFT_DECLARE_PAIR(weft_double_int_t, double, int)
WEFT_DECLARE_PAIR(weft_long_double_int_t, long double, int)
WEFT_DECLARE_PAIR(weft_long_int_t, long, int)
WEFT_DECLARE_PAIR(weft_2int_t, int, int)
WEFT_DECLARE_PAIR(weft_short_int_t, short, int)
WEFT_DECLARE_PAIR(weft_2real_t, float, float)
WEFT_DECLARE_PAIR(weft_2double_precision_t, double, double)

#define WEFT_MACHINES(X)                                                                           \
    WEFT_UNSIGNED(X, )                                                                             \
    WEFT_SIGNED(X, )                                                                               \
    WEFT_SMALL_FLOATS(X, )                                                                         \
    WEFT_REALS(X, )                                                                                \
    WEFT_COMPLEXES(X, )                                                                            \
    WEFT_HALF_COMPLEXES(X, )                                                                       \
    WEFT_PAIRS(X, )                                                                                \
    WEFT_ABSENT_INTEGERS(X)                                                                        \
    WEFT_ABSENT_REALS(X)

/* Operations: X(name, handle without MPI_, groups of types: MPI 5.0, section 6.9.2). */
#define WEFT_ANY_INTEGER (WEFT_C_INTEGER | WEFT_FORTRAN_INTEGER | WEFT_MULTI_LANGUAGE)
#define WEFT_OPS(X)                                                                                \
    X(sum, SUM, WEFT_ANY_INTEGER | WEFT_FLOATING | WEFT_COMPLEX)                               \
    X(prod, PROD, WEFT_ANY_INTEGER | WEFT_FLOATING | WEFT_COMPLEX)                             \
    X(min, MIN, WEFT_ANY_INTEGER | WEFT_FLOATING)                                              \
    X(max, MAX, WEFT_ANY_INTEGER | WEFT_FLOATING)                                              \
    X(band, BAND, WEFT_ANY_INTEGER | WEFT_BYTE)                                                \
    X(bor, BOR, WEFT_ANY_INTEGER | WEFT_BYTE)                                                  \
    X(bxor, BXOR, WEFT_ANY_INTEGER | WEFT_BYTE)                                                \
    X(land, LAND, WEFT_C_INTEGER | WEFT_MULTI_LANGUAGE | WEFT_LOGICAL)                         \
    X(lor, LOR, WEFT_C_INTEGER | WEFT_MULTI_LANGUAGE | WEFT_LOGICAL)                           \
    X(lxor, LXOR, WEFT_C_INTEGER | WEFT_MULTI_LANGUAGE | WEFT_LOGICAL)                         \
    X(minloc, MINLOC, WEFT_PAIR)                                                               \
    X(maxloc, MAXLOC, WEFT_PAIR)

/* Is `x` preferred to `y` in MINLOC and MAXLOC? NaN is preferred to every number. Comparing x with
 * itself is false for integers. */
#define WEFT_FIRST(x, y, less) ((less) || (((x) != (x)) & ((y) == (y))))

/* The ?: in the kernels of small floats, whose operands may be vectors. */
#define WEFT_PICK(condition, yes, no) ((condition) ? (yes) : (no))

/*
 * Kernels: X(operation, list of machine types, maker, expression in the operands a and b).
 * An operation with the same bits for signed and unsigned integers has kernels for the unsigned
 * ones only; WEFT_FOLDS finds them for the signed ones. 1u keeps small operands from becoming
 * (signed) int. The expression of the pairs says whether value x is preferred to y.
 */
#define WEFT_KERNELS(X)                                                                            \
    X(sum, WEFT_UNSIGNED, SCALAR, a + b)                                                           \
    X(sum, WEFT_REALS, SCALAR, a + b)                                                              \
    X(sum, WEFT_SMALL_FLOATS, SMALL_FLOAT, a + b)                                                  \
    X(sum, WEFT_COMPLEXES, COMPLEX_SUM, )                                                          \
    X(sum, WEFT_HALF_COMPLEXES, COMPLEX_SUM, )                                                     \
    X(prod, WEFT_UNSIGNED, SCALAR, 1u * a * b)                                                     \
    X(prod, WEFT_REALS, SCALAR, a * b) \
    X(prod, WEFT_SMALL_FLOATS, SMALL_FLOAT, a * b)                                                 \
    X(prod, WEFT_COMPLEXES, COMPLEX_PROD, )                                                        \
    X(prod, WEFT_HALF_COMPLEXES, HALF_COMPLEX_PROD, )                                              \
    X(min, WEFT_UNSIGNED, SCALAR, b < a ? b : a)                                                   \
    X(min, WEFT_SIGNED, SCALAR, b < a ? b : a)                                                     \
    X(min, WEFT_REALS, SCALAR, ((b < a) | (b != b)) ? b : a) \
    X(min, WEFT_SMALL_FLOATS, SMALL_FLOAT, WEFT_PICK((b < a) | (b != b), b, a))                    \
    X(max, WEFT_UNSIGNED, SCALAR, b > a ? b : a)                                                   \
    X(max, WEFT_SIGNED, SCALAR, b > a ? b : a)                                                     \
    X(max, WEFT_REALS, SCALAR, ((b > a) | (b != b)) ? b : a) \
    X(max, WEFT_SMALL_FLOATS, SMALL_FLOAT, WEFT_PICK((b > a) | (b != b), b, a))                    \
    X(band, WEFT_UNSIGNED, SCALAR, a & b) \
    X(bor, WEFT_UNSIGNED, SCALAR, a | b)                                                           \
    X(bxor, WEFT_UNSIGNED, SCALAR, a ^ b)                                                          \
    X(land, WEFT_UNSIGNED, SCALAR, (a != 0) & (b != 0))                                            \
    X(lor, WEFT_UNSIGNED, SCALAR, (a != 0) | (b != 0))                                             \
    X(lxor, WEFT_UNSIGNED, SCALAR, (a != 0) ^ (b != 0))                                            \
    X(minloc, WEFT_PAIRS, PAIR, WEFT_FIRST(x, y, x < y))                                           \
    X(maxloc, WEFT_PAIRS, PAIR, WEFT_FIRST(x, y, x > y))

/* X(signed machine type, the unsigned type whose kernels it uses). */
#define WEFT_FOLDS(X)                                                                              \
    X(I8, U8)                                                                                      \
    X(I16, U16)                                                                                    \
    X(I32, U32)                                                                                    \
    X(I64, U64)                                                                                    \
    X(I128, U128)

/* clang-format on */

#endif
