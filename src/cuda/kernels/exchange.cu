/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel that exchanges blocks between ranks without combining them. The kernels that also
 * combine them are made in reduce.cu. */
#include "cuda/kernels/exchange.cuh"

static WEFT_DEVICE void weft_copy_own(const weft_exchange_side_t &own)
{
    for (uint64_t unit = weft_thread(); own.from != own.to && unit * WEFT_UNIT_BYTES < own.in_bytes;
         unit += weft_threads())
        weft_store_unit<weft_bytes_t>(own.to, unit, own.in_bytes,
                                      weft_load_unit<weft_bytes_t>(own.from, unit, own.in_bytes));
}

WEFT_EXCHANGE_KERNEL(weft_exchange_move, weft_exchange_args_t)
{
    weft_exchanger_t waiter = weft_waiter(args);
    if (weft_begin(&waiter)) {
        weft_push_blocks<weft_bytes_t, 2>(waiter);
        weft_copy_own(args.side[args.member]);
        weft_pull_blocks<weft_bytes_t, 2>(waiter, 0);
    }
    weft_end(waiter);
}
