/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much time a sender or a receiver loses as long as it has a small ring alone (shm/channel.h
 * has the reasons). One of some tens of long packets is measured, and the fastest of four such
 * samples counts for all that came meanwhile: what a page fault or another process adds to one of
 * them must not buy a large ring, whose pages cost up to two milliseconds. Where the small ring is
 * fast, a large one makes messages some 10 % faster still (Zen 5: 1 MiB at 52 and 60 GB/s in both
 * directions), and long ones a sixth where it is fast since data are not simply cached (Zen 4,
 * left dirty as store_choice.h says: 64 KiB in 3.5 us and 2.8). So it comes after some 100 MiB.
 *
 * One of these belongs to one side of a channel, or to a member of a wall; no thread safety.
 */
#ifndef WEFT_RUNTIME_RING_LOSS_H
#define WEFT_RUNTIME_RING_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_LONG_PACKET = 2048,    /* bytes of one that is worth measuring, */
    WEFT_PACKETS_A_SAMPLE = 32, /* which one of so many is */
};

/** All zeros at first, but for `from`. */
typedef struct weft_ring_loss {
    size_t from;      /* packets of fewer bytes lose nothing, even if they are long */
    unsigned packets; /* long ones */
    unsigned samples; /* since the last loss was told: */
    size_t bytes;     /* of all of them, */
    float least;      /* ns per byte of the fastest */
    bool is_fast;     /* at the last samples, on this side */
} weft_ring_loss_t;

/** Is this packet of `bytes` bytes to be measured? */
static inline bool weft_ring_loss_is_sample(weft_ring_loss_t *loss, size_t bytes)
{
    return __builtin_expect(bytes >= WEFT_LONG_PACKET, 0) && bytes >= loss->from &&
           ++loss->packets % WEFT_PACKETS_A_SAMPLE == 0;
}

/** Its data, which are simply cached or not, were copied in or out in `ns`. Returns the ns that
 * were lost since the last time that it was not 0. */
int64_t weft_ring_loss_of_sample(weft_ring_loss_t *loss, size_t bytes, int64_t ns, bool is_cached);

/** `bytes` bytes were read from the sender's memory in `ns`, since the ring is slow on one side.
 * Returns the ns that were lost. */
int64_t weft_ring_loss_of_read(size_t bytes, int64_t ns);

#endif
