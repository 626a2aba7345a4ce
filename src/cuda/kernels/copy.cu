/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that does a batch of copies, of any addresses and lengths. */
#include "cuda/kernels/copy_span.cuh"

/* The list of entries: in the arguments, or in memory. */
struct weft_entries_t {
    const weft_copy_args_t &args;

    WEFT_DEVICE uint64_t start(uint64_t i) const
    {
        if (i == args.entries)
            return args.bytes;
        return args.list == nullptr ? args.entry[i].start : weft_load_member(&args.list[i].start);
    }
    /* The part of entry i that begins `skipped` bytes into it. */
    WEFT_DEVICE weft_span_t span(uint64_t i, uint64_t skipped) const
    {
        char *to =
            (char *)(args.list == nullptr ? args.entry[i].to : weft_load_member(&args.list[i].to));
        const char *from =
            (const char *)(args.list == nullptr ? args.entry[i].from
                                                : weft_load_member(&args.list[i].from));
        return {to + skipped, from + skipped, start(i + 1) - start(i) - skipped};
    }
};

static WEFT_DEVICE void weft_copy_share(const weft_entries_t &entries, uint64_t begin, uint64_t end)
{
    uint64_t i = weft_entry_with(begin, entries.args.entries,
                                 [&](uint64_t entry) { return entries.start(entry); });
    for (uint64_t at = begin; at < end; i++) {
        weft_span_t span = entries.span(i, at - entries.start(i));
        if (span.bytes > end - at)
            span.bytes = end - at;
        weft_copy_span(span);
        at += span.bytes;
    }
}

WEFT_KERNEL(weft_copy_batch, weft_copy_args_t)
{
    const weft_entries_t entries = {args};
    const uint64_t step = weft_teams() * args.share;
    for (uint64_t begin = weft_team() * args.share; begin < args.bytes; begin += step) {
        const uint64_t left = args.bytes - begin;
        weft_copy_share(entries, begin, begin + (left < args.share ? left : args.share));
    }
}
