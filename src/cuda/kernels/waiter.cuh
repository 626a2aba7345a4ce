/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that waits for kernels of other ranks, until what it waits for has arrived or the kernel
 * must end. */
#ifndef WEFT_CUDA_KERNELS_WAITER_CUH
#define WEFT_CUDA_KERNELS_WAITER_CUH

#include "cuda/kernels/kernel.cuh"

/* The most of the time between two looks at the clock that counts as waiting. */
#define WEFT_GAP_MOST_NS UINT64_C(1000000000)

/* `Args` has the members limit_ns and watch, as weft_exchange_args_t describes them. */
template <class Args> struct weft_waiter_t {
    const Args &args;
    uint32_t flag;
    uint64_t part; /* of an exchange: what is added to the addresses of rows */
};

template <class Args> WEFT_DEVICE weft_waiter_t<Args> weft_waiter(const Args &args)
{
    return {args, args.flag, 0};
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

/* How long a thread has waited for one thing; zeros at first. */
struct weft_patience_t {
    unsigned tries;     /* that failed */
    uint64_t waited_ns; /* up to the last look, since the first */
    uint64_t looked_ns; /* when that look was; 0: there was none */
};

/* A look at the clock: how long has this thread waited? Of a long time since the last look only a
 * part counts: this thread has not run in the rest, since the machine stood still or the device
 * belonged to others, and so the one that it waits for may not have run either. */
WEFT_DEVICE uint64_t weft_waited_ns(weft_patience_t *patience)
{
    const uint64_t now = weft_clock_ns(), gap = now - patience->looked_ns;
    if (patience->looked_ns != 0)
        patience->waited_ns += gap < WEFT_GAP_MOST_NS ? gap : WEFT_GAP_MOST_NS;
    patience->looked_ns = now;
    return patience->waited_ns;
}

/* Must the kernel end, because the host or another thread has given up, or because the time limit
 * has passed? */
template <class Args>
WEFT_DEVICE bool weft_is_off(const weft_waiter_t<Args> &waiter, weft_patience_t *patience)
{
    const Args &args = waiter.args;
    const uint64_t words = weft_load_volatile<uint64_t>(args.watch);
    const bool is_called_off = (uint32_t)words == waiter.flag;
    const bool has_ended = words >> 32 == waiter.flag;
    const bool is_late = args.limit_ns != 0 && weft_waited_ns(patience) > args.limit_ns;
    if (!is_called_off && !has_ended && !is_late && !weft_is_broken(args))
        return false;
    if (!has_ended) {
        weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_VAIN, waiter.flag);
        weft_break(args);
    }
    return true;
}

/* Called after each failed try: must the kernel end? */
template <class Args>
WEFT_DEVICE bool weft_is_in_vain(const weft_waiter_t<Args> &waiter, weft_patience_t *patience)
{
    patience->tries++;
    if (patience->tries % WEFT_TRIES_TO_LOOK == 0 && weft_is_off(waiter, patience))
        return true;
    if (patience->tries >= WEFT_TRIES_AWAKE)
        weft_pause();
    return false;
}

#endif
