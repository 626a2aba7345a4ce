/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that multiplies all elements of a vector by a factor, or divides them by one. */
#include "cuda/kernels/small_float_on_device.cuh"
#include "cuda/kernels/kernel.cuh"
#include "cuda/kernels/scale_list.h"

template <class Item, class Wide> struct weft_widened_t {
    typedef Item item;
    typedef Wide wide;
    static WEFT_DEVICE Wide raise(Item value)
    {
        return (Wide)value;
    }
    static WEFT_DEVICE Item lower(Wide value)
    {
        return (Item)value;
    }
};

#define SCALED_NUMBER(name, item_t, wide_t)                                                        \
    struct weft_scaled_##name##_t : weft_widened_t<item_t, wide_t> {                               \
    };
WEFT_SCALED_NUMBERS(SCALED_NUMBER)

#define SCALED_SMALL_FLOAT(name, item_t, wide_t)                                                   \
    struct weft_scaled_##name##_t {                                                                \
        typedef item_t item;                                                                       \
        typedef wide_t wide;                                                                       \
        static WEFT_DEVICE wide_t raise(item_t value)                                              \
        {                                                                                          \
            return weft_device_float_of_##name(value);                                             \
        }                                                                                          \
        static WEFT_DEVICE item_t lower(wide_t value)                                              \
        {                                                                                          \
            return weft_device_##name##_of_float(value);                                           \
        }                                                                                          \
    };
WEFT_SCALED_SMALL_FLOATS(SCALED_SMALL_FLOAT)

/* Integers wrap around. */
template <class Wide> WEFT_DEVICE Wide weft_times(Wide value, Wide factor)
{
    if constexpr ((Wide)0.5 == (Wide)0)
        return (Wide)((uint64_t)value * (uint64_t)factor);
    else
        return value * factor;
}

template <class Type>
WEFT_DEVICE typename Type::item weft_scaled_item(const weft_scale_args_t &args,
                                                 typename Type::item item,
                                                 typename Type::wide factor)
{
    const typename Type::wide value = Type::raise(item);
    return Type::lower(args.divides ? value / factor : weft_times(value, factor));
}

template <class Type>
WEFT_DEVICE typename Type::wide weft_scale_factor(const weft_scale_args_t &args)
{
    typename Type::wide factor;
    if (args.factor_at != nullptr)
        return Type::raise(weft_load_loose<typename Type::item>(args.factor_at));
    memcpy(&factor, &args.factor, sizeof(factor));
    return factor;
}

template <class Type> WEFT_DEVICE void weft_scale_all(const weft_scale_args_t &args)
{
    typedef typename Type::item item_t;
    constexpr uint64_t BYTES = sizeof(item_t), ITEMS = sizeof(weft_vector_t) / BYTES;
    const typename Type::wide factor = weft_scale_factor<Type>(args);
    const uint64_t loose = args.count - args.vectors * ITEMS;
    WEFT_NO_UNROLL for (uint64_t v = weft_thread(); v < args.vectors; v += weft_threads())
    {
        const uint64_t offset = args.head * BYTES + v * sizeof(weft_vector_t);
        item_t item[ITEMS];
        weft_vector_t vector = weft_load<weft_vector_t>(weft_at(args.from, offset));
        memcpy((void *)item, &vector, sizeof(vector));
        WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) item[i] =
            weft_scaled_item<Type>(args, item[i], factor);
        memcpy(&vector, (const void *)item, sizeof(vector));
        weft_store(weft_at(args.to, offset), vector);
    }
    WEFT_NO_UNROLL for (uint64_t i = weft_thread(); i < loose; i += weft_threads())
    {
        const uint64_t offset = (i < args.head ? i : i + args.vectors * ITEMS) * BYTES;
        const item_t item = weft_load_loose<item_t>(weft_at(args.from, offset));
        weft_store_loose(weft_at(args.to, offset), weft_scaled_item<Type>(args, item, factor));
    }
}

WEFT_KERNEL(weft_scale, weft_scale_args_t)
{
    switch (args.type) {
#define SCALED_CASE(name, item_t, wide_t)                                                          \
    case WEFT_SCALED_##name:                                                                       \
        weft_scale_all<weft_scaled_##name##_t>(args);                                              \
        break;
        WEFT_SCALED(SCALED_CASE)
    }
}
