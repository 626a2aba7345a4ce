/* SPDX-License-Identifier: BSD-3-Clause */
/* A gate in a stream: the kernel waits until the host opens it. */
#include "cuda/kernels/kernel.cuh"

static WEFT_DEVICE bool weft_gate_is_open(const weft_gate_args_t &args, uint32_t now)
{
    return args.repeats != 0 ? now == args.number : (int32_t)(now - args.number) >= 0;
}

WEFT_KERNEL(weft_gate, weft_gate_args_t)
{
    if (weft_thread() > 0)
        return;
    WEFT_NO_UNROLL for (unsigned tries = 1;
                        !weft_gate_is_open(args, weft_load_volatile<uint32_t>(args.word)); tries++)
    {
        if (tries >= WEFT_TRIES_AWAKE)
            weft_pause();
    }
    if (args.repeats != 0)
        weft_store_volatile<uint32_t>(args.word, 0);
}
