/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of multimem_on_device.cuh on the host: an access goes to the memory of each member,
 * one after the other. */
#ifndef WEFT_CUDA_KERNELS_MULTIMEM_ON_HOST_CUH
#define WEFT_CUDA_KERNELS_MULTIMEM_ON_HOST_CUH

#include "cuda/kernels/kernel.cuh"

/* A multicast address, and the places in the memory of each member that it stands for. */
struct weft_places_t {
    void *place[WEFT_EXCHANGE_MEMBERS];
    unsigned count;
};

WEFT_DEVICE weft_places_t weft_places_of(const void *address, size_t bytes)
{
    weft_places_t places;
    if ((uintptr_t)address % bytes != 0 || weft_host_multicast == nullptr)
        __builtin_trap();
    places.count = weft_host_multicast(address, places.place, WEFT_EXCHANGE_MEMBERS);
    return places;
}

/* Reduces in the order of members; a switch has an order of its own. */
template <class Op> WEFT_DEVICE weft_vector_t weft_reduced_load(const void *address)
{
    constexpr unsigned ITEMS = sizeof(weft_vector_t) / sizeof(typename Op::item);
    const weft_places_t places = weft_places_of(address, sizeof(weft_vector_t));
    typename Op::item item[ITEMS];
    typename Op::value left[ITEMS] = {};
    for (unsigned m = 0; m < places.count; m++) {
        memcpy((void *)item, places.place[m], sizeof(item));
        for (unsigned i = 0; i < ITEMS; i++)
            left[i] = m == 0 ? Op::raise(item[i]) : Op::apply(left[i], Op::raise(item[i]));
    }
    weft_vector_t value;
    for (unsigned i = 0; i < ITEMS; i++)
        item[i] = Op::lower(left[i]);
    memcpy(&value, (const void *)item, sizeof(value));
    return value;
}

#define WEFT_REDUCED_LOAD_16(op, instruction)                                                      \
    static WEFT_DEVICE weft_vector_t load(const void *address)                                     \
    {                                                                                              \
        return weft_reduced_load<op>(address);                                                     \
    }
#define WEFT_REDUCED_LOAD_8(op, instruction) WEFT_REDUCED_LOAD_16(op, instruction)
#define WEFT_REDUCED_LOAD_4(op, instruction) WEFT_REDUCED_LOAD_16(op, instruction)

WEFT_DEVICE void weft_multicast_store(void *address, const weft_vector_t &value)
{
    const weft_places_t places = weft_places_of(address, sizeof(value));
    for (unsigned m = 0; m < places.count; m++)
        memcpy(places.place[m], &value, sizeof(value));
}

WEFT_DEVICE void weft_multicast_signal(void *address, uint64_t number)
{
    const weft_places_t places = weft_places_of(address, sizeof(number));
    for (unsigned m = 0; m < places.count; m++)
        __atomic_store_n((uint64_t *)places.place[m], number, __ATOMIC_RELEASE);
}

WEFT_DEVICE void weft_multicast_see()
{
}

#endif
