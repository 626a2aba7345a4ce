/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that waits for kernels of other ranks, until what it waits for has arrived or the kernel
 * must end. */
#ifndef WEFT_CUDA_KERNELS_WAITER_CUH
#define WEFT_CUDA_KERNELS_WAITER_CUH

#include "cuda/kernels/kernel.cuh"

/* `Args` has the members limit_ns and watch, as weft_exchange_args_t describes them. */
template <class Args> struct weft_waiter_t {
    const Args &args;
    uint64_t begin_ns;
    uint32_t flag;
    uint64_t part; /* of an exchange: what is added to the addresses of rows */
};

template <class Args> WEFT_DEVICE weft_waiter_t<Args> weft_waiter(const Args &args)
{
    return {args, args.limit_ns == 0 ? 0 : weft_clock_ns(), args.flag, 0};
}

/* ---- conduits, which only exchanges have ---- */

template <class Args> WEFT_DEVICE bool weft_is_broken(const Args &)
{
    return false;
}

template <> WEFT_DEVICE bool weft_is_broken(const weft_exchange_args_t &args)
{
    return args.conduit != nullptr && weft_load_volatile<uint32_t>(&args.conduit->broken) != 0;
}

template <class Args> WEFT_DEVICE void weft_break(const Args &)
{
}

/* Tells all members, so that none waits in vain. */
template <> WEFT_DEVICE void weft_break(const weft_exchange_args_t &args)
{
    if (args.conduit == nullptr)
        return;
    weft_store_volatile<uint32_t>(&args.conduit->broken, 1);
    WEFT_NO_UNROLL for (uint32_t i = 0; i < args.members; i++)
    {
        if (i == args.member)
            continue;
        weft_conduit_head_t *head =
            (weft_conduit_head_t *)((char *)args.side[i].outbox - args.head);
        weft_store_volatile<uint32_t>(&head->broken, 1);
    }
}

/* ---- waiting ---- */

/* Must the kernel end, because the host or another thread has given up, or because the time limit
 * has passed? */
template <class Args> WEFT_DEVICE bool weft_is_off(const weft_waiter_t<Args> &waiter)
{
    const Args &args = waiter.args;
    const uint64_t words = weft_load_volatile<uint64_t>(args.watch);
    const bool is_called_off = (uint32_t)words == waiter.flag;
    const bool has_ended = words >> 32 == waiter.flag;
    const bool is_late = args.limit_ns != 0 && weft_clock_ns() - waiter.begin_ns > args.limit_ns;
    if (!is_called_off && !has_ended && !is_late && !weft_is_broken(args))
        return false;
    if (!has_ended) {
        weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_VAIN, waiter.flag);
        weft_break(args);
    }
    return true;
}

/* Called after each failed try, with their number: must the kernel end? */
template <class Args>
WEFT_DEVICE bool weft_is_in_vain(const weft_waiter_t<Args> &waiter, unsigned tries)
{
    if (tries % WEFT_TRIES_TO_LOOK == 0 && weft_is_off(waiter))
        return true;
    if (tries >= WEFT_TRIES_AWAKE)
        weft_pause();
    return false;
}

#endif
