/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of reductions, from the same list of operations as those of the processor. Each
 * reduction has two: one reduces operands in memory, the other exchanges operands with other
 * devices first.
 */
#include "cuda/kernels/exchange.cuh"
#include "cuda/kernels/small_float_on_device.cuh"
#include "cuda/kernels/reduce.cuh"
#include "datatype/op_list.h"

template <class Item> struct weft_dense_t {
    typedef Item item;
    static constexpr bool is_dense = true;
    static WEFT_DEVICE Item load(const void *address)
    {
        return weft_load_loose<Item>(address);
    }
    static WEFT_DEVICE Item load_aligned(const void *address)
    {
        return weft_load<Item>(address);
    }
    static WEFT_DEVICE void store(void *address, const Item &value)
    {
        weft_store_loose(address, value);
    }
};

/* An item that operations use as it is. */
template <class Item> struct weft_plain_t : weft_dense_t<Item> {
    typedef Item value;
    static WEFT_DEVICE Item raise(const Item &item)
    {
        return item;
    }
    static WEFT_DEVICE Item lower(const Item &value)
    {
        return value;
    }
};

#define KERNEL(op, name)                                                                           \
    WEFT_KERNEL(weft_reduce_##op##_##name, weft_reduce_args_t)                                     \
    {                                                                                              \
        weft_reduce<op##_##name>(args);                                                            \
    }                                                                                              \
    WEFT_EXCHANGE_KERNEL(weft_exchange_##op##_##name, weft_exchange_args_t)                        \
    {                                                                                              \
        weft_exchange<op##_##name>(args);                                                          \
    }

#define SCALAR(name, ctype, op, expression)                                                        \
    struct op##_##name : weft_plain_t<ctype> {                                                     \
        static WEFT_DEVICE ctype apply(ctype a, ctype b)                                           \
        {                                                                                          \
            return (ctype)(expression);                                                            \
        }                                                                                          \
    };                                                                                             \
    KERNEL(op, name)

/* A float of 16 or 8 bits, which operations use as a float. */
#define SMALL_FLOAT(name, ctype, op, expression)                                                   \
    struct op##_##name : weft_##name##_t {                                                         \
        static WEFT_DEVICE float apply(float a, float b)                                           \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };                                                                                             \
    KERNEL(op, name)

#define SMALL_FLOAT_FORMAT(name, ctype, ...)                                                       \
    struct weft_##name##_t : weft_dense_t<ctype> {                                                 \
        typedef float value;                                                                       \
        static WEFT_DEVICE float raise(ctype item)                                                 \
        {                                                                                          \
            return weft_device_float_of_##name(item);                                              \
        }                                                                                          \
        static WEFT_DEVICE ctype lower(float number)                                               \
        {                                                                                          \
            return weft_device_##name##_of_float(number);                                          \
        }                                                                                          \
    };
WEFT_SMALL_FLOATS(SMALL_FLOAT_FORMAT, )

/* A sum of complex numbers is a sum of their parts: kernel_table.c passes twice as many
 * elements. */
#define COMPLEX_SUM(name, part, op, expression)

template <class Part> struct weft_complex_t {
    Part re, im;
};

/* The textbook formula, as on the processor; the compiler may not contract it. */
template <class Part>
WEFT_DEVICE weft_complex_t<Part> weft_product(weft_complex_t<Part> x, weft_complex_t<Part> y)
{
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

typedef float weft_part_F32_t;
typedef double weft_part_F64_t;

#define COMPLEX_PROD(name, part, op, expression)                                                   \
    typedef weft_complex_t<weft_part_##part##_t> weft_##name##_t;                                  \
    struct op##_##name : weft_plain_t<weft_##name##_t> {                                           \
        static WEFT_DEVICE weft_##name##_t apply(weft_##name##_t a, weft_##name##_t b)             \
        {                                                                                          \
            return weft_product(a, b);                                                             \
        }                                                                                          \
    };                                                                                             \
    KERNEL(op, name)

#define HALF_COMPLEX_PROD(name, part, op, expression)                                              \
    struct op##_##name : weft_dense_t<weft_complex_t<uint16_t>> {                                  \
        typedef weft_complex_t<float> value;                                                       \
        static WEFT_DEVICE value raise(item from)                                                  \
        {                                                                                          \
            return {weft_##part##_t::raise(from.re), weft_##part##_t::raise(from.im)};             \
        }                                                                                          \
        static WEFT_DEVICE item lower(value from)                                                  \
        {                                                                                          \
            return {weft_##part##_t::lower(from.re), weft_##part##_t::lower(from.im)};             \
        }                                                                                          \
        static WEFT_DEVICE value apply(value a, value b)                                           \
        {                                                                                          \
            return weft_product(a, b);                                                             \
        }                                                                                          \
    };                                                                                             \
    KERNEL(op, name)

/* A value and its index. Gaps are neither read nor written. */
template <class Pair> struct weft_pair_t : weft_plain_t<Pair> {
    typedef decltype(Pair::value) value_t;
    typedef decltype(Pair::index) index_t;
    static constexpr bool is_dense = sizeof(Pair) == sizeof(value_t) + sizeof(index_t);
    static WEFT_DEVICE Pair load(const void *address)
    {
        return {weft_load_loose<value_t>(address),
                weft_load_loose<index_t>(weft_at(address, offsetof(Pair, index)))};
    }
    static WEFT_DEVICE Pair load_aligned(const void *address)
    {
        return {weft_load<value_t>(address),
                weft_load<index_t>(weft_at(address, offsetof(Pair, index)))};
    }
    static WEFT_DEVICE void store(void *address, const Pair &pair)
    {
        weft_store_loose(address, pair.value);
        weft_store_loose(weft_at(address, offsetof(Pair, index)), pair.index);
    }
};

#define PAIR(name, ctype, op, expression)                                                          \
    struct op##_##name : weft_pair_t<ctype> {                                                      \
        static WEFT_DEVICE bool prefers(value_t x, value_t y)                                      \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
        static WEFT_DEVICE ctype apply(const ctype &a, const ctype &b)                             \
        {                                                                                          \
            const bool is_a = prefers(a.value, b.value), is_b = prefers(b.value, a.value);         \
            return {is_b ? b.value : a.value,                                                      \
                    is_a || (!is_b && a.index < b.index) ? a.index : b.index};                     \
        }                                                                                          \
    };                                                                                             \
    KERNEL(op, name)

#define MAKE(op, TYPES, MAKER, expression) TYPES##_ON_DEVICE(MAKER, op, expression)
WEFT_KERNELS(MAKE)
