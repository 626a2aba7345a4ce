/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long data are stored on a wall (runtime/store_choice.h says which ways there are). The first
 * member decides for all, and shows that to them. Some calls are measured: each member notes how
 * long it wrote, and how long it read, and shows both. When the first member comes to the next call
 * that is measured, it takes the slowest of each. Calls are compared with calls of the same stamp
 * only.
 *
 * Which calls are measured follows from the number of posts before them, which is the same at all
 * members: one is when that number has reached another multiple of 16, or of 2 at first and during
 * a try. If the members see the beginning of a try at different calls, costs of one call are
 * missing, and that call does not count.
 */
#include "coll/wall/wall.h"

#include "base/cpu.h"

enum {
    STORES_WAY = 3,  /* in what is shown: a weft_store_t, */
    STORES_KEEN = 4, /* whether samples are close together, */
    STORES_FAR = 8,  /* and whether the members are far from each other */
    APART_SHIFT = 4,
    APART_KEEN_SHIFT = 1,
    /* For calls of more bytes the whole ring is best, and other ways would hide that. Not between
     * far cores, where it is best past the caches only. */
    CACHED_ABOVE = 128 * 1024,
    TOUCH_FROM = 16 * 1024, /* bytes of a call for which the rings of a pair are touched */
    SLOW_WRITE = 43,        /* ns per KiB: more is lost with a small ring, as in */
    SLOW_READ = 40,         /* runtime/ring_loss.c; */
    FAR_WRITE = 200,        /* so much only between far cores */
    OTHERS_MOST = 32,       /* measured calls of other stamps, before these are looked at instead */
};

/* The word that a member shows. */
enum { NS_UNIT = 8, COST_BITS = 20, COST_MOST = (1 << COST_BITS) - 1, NUMBER_SHIFT = 40 };

static unsigned shown_stores(const weft_wall_t *wall)
{
    return atomic_load_explicit(&wall->members[0].strip->state.stores, memory_order_relaxed);
}

static void show_stores(weft_wall_t *wall)
{
    const weft_store_choice_t *choice = &wall->timing.choice;
    unsigned shown = (unsigned)choice->way;
    if (weft_store_is_keen(choice))
        shown |= STORES_KEEN;
    if (weft_store_is_between_far(choice))
        shown |= STORES_FAR;
    atomic_store_explicit(&wall->strip->state.stores, shown, memory_order_relaxed);
}

static bool lacks_ring(const weft_wall_t *wall)
{
    return wall->ring_bytes < weft_wall_place.ring_bytes;
}

/* Lines with one reader may be left dirty, unless they leave the caches by themselves. */
static unsigned store_ways(const weft_wall_t *wall)
{
    unsigned ways = 1u << WEFT_STORE_CACHED | 1u << WEFT_STORE_NONTEMPORAL;
    return wall->size == 2 && lacks_ring(wall) ? ways | 1u << WEFT_STORE_DIRTY : ways;
}

void weft_wall_store_open(weft_wall_t *wall)
{
    wall->timing.last_long = wall->number;
    weft_wall_store_renew(wall);
}

void weft_wall_store_renew(weft_wall_t *wall)
{
    weft_store_open(&wall->timing.choice, store_ways(wall), wall->ring_bytes);
    /* The first lap, of lines that nobody has read, would make data that are simply cached look
     * cheap; and where each call is measured, twice its bytes are counted. */
    wall->timing.choice.settling *= 2;
    if (wall->is_touched)
        weft_store_set_touched(&wall->timing.choice);
    if (!lacks_ring(wall) || weft_store_suits_small_rings())
        weft_store_expect_cached(&wall->timing.choice);
    if (wall->rank == 0)
        show_stores(wall);
}

/* ---- writing ---- */

weft_store_t weft_wall_stores(const weft_wall_t *wall)
{
    if (wall->swaps.is_taken)
        return WEFT_STORE_CACHED;
    unsigned shown = shown_stores(wall);
    weft_store_t way = (weft_store_t)(shown & STORES_WAY);
    if (weft_stamp_bytes(wall->stamp) <= CACHED_ABOVE)
        return way;
    bool wants_ring = lacks_ring(wall) && (shown & STORES_FAR) == 0;
    return way == WEFT_STORE_DIRTY || wants_ring ? WEFT_STORE_CACHED : way;
}

void weft_wall_copy_long(weft_wall_t *wall, void *room, const void *from, size_t bytes)
{
    if (wall->swaps.is_taken) {
        weft_copy_write(room, from, bytes);
        return;
    }
    weft_store_t way = weft_wall_stores(wall);
    bool is_cached = way == WEFT_STORE_CACHED;
    bool is_of_loss = weft_ring_loss_is_sample(&wall->loss, bytes);
    if (!is_of_loss && !wall->timing.is_on) {
        weft_store_copy(way, room, from, bytes);
        return;
    }
    int64_t began_ns = weft_clock_ns();
    weft_store_copy(way, room, from, bytes);
    int64_t ns = weft_clock_ns() - began_ns;
    wall->timing.wrote_ns += ns;
    wall->timing.wrote_bytes += bytes;
    int64_t lost_ns = is_of_loss ? weft_ring_loss_of_sample(&wall->loss, bytes, ns, is_cached) : 0;
    if ((!is_cached || !wall->loss.is_fast) && lacks_ring(wall))
        wall->lost_ns += lost_ns;
}

void weft_wall_say_if_dirty(weft_wall_t *wall)
{
    weft_post_t *post = &wall->strip->posts[wall->number % WEFT_WALL_POSTS];
    post->is_left_dirty = weft_wall_stores(wall) == WEFT_STORE_DIRTY;
}

void weft_wall_leave_dirty(const weft_wall_t *wall, int member, const void *data, size_t bytes)
{
    char *ring = wall->members[member].ring;
    weft_cpu_dirty(ring + ((const char *)data - ring), bytes);
}

/* ---- the costs of a call ---- */

static uint64_t shown_ns(int64_t ns)
{
    uint64_t units = ns > 0 ? (uint64_t)ns / NS_UNIT : 0;
    return units < COST_MOST ? units : COST_MOST;
}

static uint64_t shown_number(uint64_t number)
{
    return number << NUMBER_SHIFT >> NUMBER_SHIFT;
}

static float cost_of(uint64_t units, size_t bytes)
{
    return weft_store_per_kib((int64_t)(units & COST_MOST) * NS_UNIT, bytes);
}

void weft_wall_end_long(weft_wall_t *wall)
{
    weft_wall_timing_t *timing = &wall->timing;
    if (!timing->is_on)
        return;
    int64_t read_ns = timing->work_ns - timing->wrote_ns;
    timing->is_on = false;
    atomic_store_explicit(&wall->strip->state.cost,
                          shown_number(timing->number) << NUMBER_SHIFT |
                              shown_ns(timing->wrote_ns) << COST_BITS | shown_ns(read_ns),
                          memory_order_relaxed);
}

/* The slowest member's. False: one has not shown what this call took, or shows a later one. */
static bool costs_of_all(const weft_wall_t *wall, weft_store_cost_t *out)
{
    size_t bytes = weft_stamp_bytes(wall->timing.stamp);
    *out = (weft_store_cost_t){0, 0};
    for (int i = 0; i < wall->size; i++) {
        uint64_t shown =
            atomic_load_explicit(&wall->members[i].strip->state.cost, memory_order_relaxed);
        if (shown >> NUMBER_SHIFT != shown_number(wall->timing.number))
            return false;
        float write = cost_of(shown >> COST_BITS, bytes), read = cost_of(shown, bytes);
        out->write = write > out->write ? write : out->write;
        out->read = read > out->read ? read : out->read;
    }
    return true;
}

/* Is the call that was measured one of those that are compared? */
static bool is_comparable(weft_wall_timing_t *timing)
{
    weft_store_choice_t *choice = &timing->choice;
    bool is_first = choice->samples == 0 && !choice->is_try;
    if (is_first || timing->stamp == timing->round_stamp) {
        timing->round_stamp = timing->stamp;
        timing->others = 0;
        return true;
    }
    if (++timing->others > OTHERS_MOST)
        weft_store_restart(choice);
    return false;
}

static void look_at_costs(weft_wall_t *wall)
{
    weft_store_cost_t cost;
    if (costs_of_all(wall, &cost) && is_comparable(&wall->timing))
        weft_store_note(&wall->timing.choice, cost,
                        weft_stamp_bytes(wall->timing.stamp) << APART_KEEN_SHIFT);
    show_stores(wall);
}

/* Is the part of the ring in use slow, now that all of it has been read once? Between far cores any
 * ring is, which the first samples show; later ones do not, as the other ways are tried. */
static void decide_on_ring(weft_wall_t *wall)
{
    const weft_wall_timing_t *timing = &wall->timing;
    weft_store_cost_t cost;
    bool has_been_read = 2 * wall->ring_at >= 3 * wall->ring_bytes;
    if (!has_been_read || timing->way != WEFT_STORE_CACHED || timing->wrote_bytes == 0 ||
        !costs_of_all(wall, &cost))
        return;
    float own = weft_store_per_kib(timing->wrote_ns, timing->wrote_bytes);
    wall->undecided--;
    if (own < FAR_WRITE && (own > SLOW_WRITE || cost.read > SLOW_READ)) {
        wall->lost_ns = WEFT_WALL_LOST_NS;
        wall->undecided = 0;
    }
}

/* Each chunk that has to wait for room waits for two turns of far lines, so long data want the
 * whole ring there, too, if it costs no pages. */
static bool is_held_up(const weft_wall_t *wall)
{
    return (shown_stores(wall) & STORES_FAR) != 0 && lacks_ring(wall) && wall->is_touched &&
           weft_stamp_bytes(wall->stamp) > CACHED_ABOVE;
}

void weft_wall_begin_long(weft_wall_t *wall)
{
    if (weft_wall_is_exchange(wall))
        return; /* that says nothing of the ring */
    if (__builtin_expect(wall->is_untouched, 0) && weft_stamp_bytes(wall->stamp) >= TOUCH_FROM)
        weft_wall_touch_rings(wall);
    if (__builtin_expect(is_held_up(wall), 0))
        wall->lost_ns = WEFT_WALL_LOST_NS;
    weft_wall_timing_t *timing = &wall->timing;
    int shift = (shown_stores(wall) & STORES_KEEN) != 0 ? APART_KEEN_SHIFT : APART_SHIFT;
    bool is_measured = wall->number >> shift != timing->last_long >> shift;
    timing->last_long = wall->number;
    if (!is_measured)
        return;
    if (wall->undecided > 0 && timing->number != 0)
        decide_on_ring(wall);
    if (wall->rank == 0 && timing->number != 0)
        look_at_costs(wall);
    timing->number = wall->number;
    timing->stamp = wall->stamp;
    timing->way = weft_wall_stores(wall);
    timing->work_ns = timing->wrote_ns = 0;
    timing->wrote_bytes = 0;
    timing->is_on = true;
}
