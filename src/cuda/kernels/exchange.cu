/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel that exchanges blocks between ranks without combining them. The kernels that also
 * combine them are made in reduce.cu. */
#include "cuda/kernels/exchange.cuh"

WEFT_EXCHANGE_KERNEL(weft_exchange_move, weft_exchange_args_t)
{
    const weft_exchange_side_t &own = args.side[args.member];
    weft_push_blocks<weft_bytes_t>(args);
    for (uint64_t unit = weft_thread(); own.from != own.to && unit * WEFT_UNIT_BYTES < own.in_bytes;
         unit += weft_threads())
        weft_store_unit<weft_bytes_t>(own.to, unit, own.in_bytes,
                                      weft_load_unit<weft_bytes_t>(own.from, unit, own.in_bytes));
    weft_pull_blocks<weft_bytes_t>(args, weft_waiter(args).begin_ns, 0);
}
