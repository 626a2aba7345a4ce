/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a writer stores data into shared memory that other cores read, and how these leave it. There
 * are three ways:
 *
 * cached        Through the caches. A reader that shares a cache with the writer takes lines out of
 *               the writer's cache at 40 GB/s and more. But where the memory is used again before
 *               both cores have dropped its lines, the writer has to take each one back from a core
 *               that holds a copy of it, and that is slow: on a Zen 4, 7 ns a line in one group of
 *               cores, 30 ns between two groups, one line after the other.
 * dirty         The same, and when the reader has read a line it stores a byte there. A line that
 *               one core alone has, and has changed, is taken from it in 1 to 2 ns on that Zen 4.
 *               For memory with one reader.
 * nontemporal   Past the caches (base/copy.h). Where the two cores share no cache, the reader would
 *               have to fetch each line from the cache of the other core, at 2.2 GB/s on that Zen
 *               4. Lines that were stored past the caches come from memory, which the processor
 *               fetches ahead: 15 to 23 GB/s there, whatever the distance.
 *
 * Which one is the fastest depends on the processor, on the distance of the cores, which virtual
 * machines do not tell and change, and on the memory. So the writer learns it. It measures one of
 * some tens of long packets, and the reader shows what reading that one took. Where both together
 * are slow, the writer tries another way. What a way takes shows once all of the memory has been
 * used so: a try begins with a lap through it, without samples. All ways are tried at first, and
 * again when another one has become the better one; later one after the other now and then. Where
 * no pages have to be touched and the first packets are read slowly, the cores are far from each
 * other, and past the caches is tried at once.
 *
 * One of these belongs to one writer; no thread safety.
 */
#ifndef WEFT_RUNTIME_STORE_CHOICE_H
#define WEFT_RUNTIME_STORE_CHOICE_H

#include "base/copy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_store {
    WEFT_STORE_CACHED,
    WEFT_STORE_DIRTY,
    WEFT_STORE_NONTEMPORAL,
    WEFT_STORES,
} weft_store_t;

/** Bytes of a packet for which the choice is worth it. */
enum { WEFT_STORE_LONG = 2048 };

typedef struct weft_store_cost {
    float write, read; /* ns per KiB; readers may have more than one core */
} weft_store_cost_t;

/** Are the two cores far from each other, by what simply cached data cost in a ring of any size?
 * With a small one it is 130 to 240 ns per KiB on a Zen 4 if they share a cache, and 450 to 650 if
 * not. */
static inline bool weft_store_is_far(weft_store_cost_t cost)
{
    return cost.write + cost.read > 320;
}

typedef struct weft_store_choice {
    weft_store_t way;
    bool expects_cached;
    bool prefers_dirty;          /* to cached data between near cores */
    bool is_touched;             /* the memory: both sides have its pages */
    unsigned ways;               /* that may be taken, a bit each; 0: it is fixed */
    unsigned untried;            /* of them, since `way` was taken */
    size_t lap;                  /* bytes of the memory */
    size_t settling;             /* bytes to be stored before samples count */
    unsigned left;               /* long packets up to the next that is measured, it included */
    unsigned apart;              /* so many are between two samples */
    weft_store_t tried;          /* last, or now: */
    bool is_try;                 /* of `way`; if it is in vain, */
    weft_store_t held;           /* this one goes on, which took */
    float usual;                 /* so much, ns per KiB of both copies, in its last round */
    size_t bytes, next_try, gap; /* stored so far; at which the next try begins, */
    size_t try_began;            /* and the last one has begun */
    float cached;    /* the same of data that were cached, or more than they take between
                                  * near cores; 0: it is not known */
    int far_samples; /* in a row, before the first round is over */
    int samples;     /* of this round or try; */
    float least;     /* of the fastest of them, as `usual` */
} weft_store_choice_t;

/** The way that weft_config.STORES names, if it is one of `ways` (a bit for each weft_store_t), or
 * cached, to be learnt: at first, and again when the memory is another one. `lap`: its bytes. */
void weft_store_open(weft_store_choice_t *choice, unsigned ways, size_t lap);

/** Data are best cached, unless the cores are far from each other, and without need no other way is
 * tried: as in memory that is larger than the caches of a core, or where
 * weft_store_suits_small_rings(). After weft_store_open(). */
void weft_store_expect_cached(weft_store_choice_t *choice);

/** Lines are left dirty as soon as cached data show that the cores are near, without a try: where
 * packets go one after the other, the clock does not see what a writer spends while its stores wait
 * in the core. After weft_store_open(). */
void weft_store_prefer_dirty(weft_store_choice_t *choice);

/** The reader and the writer have touched all pages of the memory. After weft_store_open(). */
static inline void weft_store_set_touched(weft_store_choice_t *choice)
{
    choice->is_touched = true;
}

/** Does the only reader of a small ring leave its lines dirty, whatever is learnt? Where
 * weft_config.STORES says so, or does not say otherwise and weft_cpu_gets_dirty_sooner(). */
bool weft_store_is_read_dirty(void);

/** Are cached data the fastest on this processor between near cores in small rings, too, and gain
 * packets of less than 8 KiB nothing by a large ring? Where the other ways are tried now and then
 * all the same, a message of 4 KiB takes 1.56 us instead of 1.25 on a Cascade Lake, and packets of
 * 4 KiB go at 8 GB/s instead of 10.8 on an Emerald Rapids. */
bool weft_store_suits_small_rings(void);

/** Is a large ring to be made ready at the first long data, which takes some milliseconds and
 * megabytes? So where two ranks alone share the host, unless small rings are as fast. Else that of
 * a pair is made ready when the lack of it has cost as much. */
bool weft_store_begins_large(void);

/** Is this long packet to be measured, or is what the last one took to be looked at? */
static inline bool weft_store_is_sample(weft_store_choice_t *choice)
{
    return __builtin_expect(--choice->left == 0, 0);
}

/** Are samples to be close together, since little is known, or since a try costs time? */
bool weft_store_is_keen(const weft_store_choice_t *choice);

/** Are cached data fast, whatever is the fastest in this memory? Not between far cores, nor before
 * it is known. */
bool weft_store_is_near(const weft_store_choice_t *choice);

/** Are cached data as slow as between far cores alone? Not before it is known. */
bool weft_store_is_between_far(const weft_store_choice_t *choice);

/** The packet that was measured cost so much; this may change the way. `bytes`: that were stored
 * since the last such call. */
void weft_store_note(weft_store_choice_t *choice, weft_store_cost_t cost, size_t bytes);

/** What is measured now is unlike what was: the samples of this round count no more, and a try is
 * in vain. */
void weft_store_restart(weft_store_choice_t *choice);

/** Copy any number of bytes so. */
static inline void weft_store_copy(weft_store_t way, void *to, const void *from, size_t bytes)
{
    if (way == WEFT_STORE_NONTEMPORAL)
        weft_copy_nontemporal(to, from, bytes);
    else
        weft_copy_write(to, from, bytes);
}

/** ns for `bytes` bytes as ns per KiB. */
static inline float weft_store_per_kib(int64_t ns, size_t bytes)
{
    return (float)ns * 1024 / (float)bytes;
}

#endif
