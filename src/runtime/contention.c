/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/contention.h"

enum {
    /* A yield that takes longer has let another process run; in a gap between two polls that is
     * longer, another process had the core. Gaps show what yields cannot: a yield passes the core
     * on only within the scheduler's group of a session. */
    CONTENDED_YIELD_NS = 4000,
    CONTENDED_GAP_NS = 200000,
    /* A yield that takes longer has given away a whole time slice of the scheduler (0.7 ms and more
     * on Linux, by the number of cores). Ranks that wait for each other pass the core on within
     * microseconds. */
    DEAR_YIELD_NS = 400000,
    TURN_NS = 100000,        /* that another thread may take where they wake each other */
    TURNS_MOST_NS = 2000000, /* for the threads of a few ranks; a slice has some 4 ms */
    SHORT_YIELDS = 64,       /* so many in a row show that no other process computes on this core */
    WAITS_FIRST = 64,
    WAITS_MOST = 1 << 16,
    DEAR_WAITS_MOST = 1 << 12, /* to try again costs a slice of some 4 ms: 1 us for each wait */
};

void wefti_contention_open(weft_contention_t *contention, int ranks_per_core)
{
    *contention = (weft_contention_t){.is_oversubscribed = {.next = WAITS_FIRST},
                                      .yields_are_dear = {.next = WAITS_FIRST},
                                      .long_yields_believed = ranks_per_core > 1 ? 2 : 1,
                                      .ranks_per_core = ranks_per_core};
}

static void believe(weft_belief_t *belief, int most)
{
    if (belief->left == 0 && belief->next < most)
        belief->next *= 2;
    belief->left = belief->next;
}

static void count_long_yield(weft_contention_t *contention)
{
    contention->short_yields = 0;
    if (++contention->long_yields < contention->long_yields_believed)
        return;
    contention->long_yields = 0;
    believe(&contention->yields_are_dear, DEAR_WAITS_MOST);
}

static void count_short_yield(weft_contention_t *contention)
{
    weft_belief_t *dear = &contention->yields_are_dear;
    contention->long_yields = 0;
    if (++contention->short_yields < SHORT_YIELDS)
        return;
    contention->short_yields = 0;
    if (dear->next > WAITS_FIRST)
        dear->next /= 2;
}

/* How long a yield may take in which all others of the core have had their turns. */
static int64_t turns_ns(const weft_contention_t *contention, int threads)
{
    int64_t ranks_ns = (int64_t)contention->ranks_per_core * TURN_NS, ns = ranks_ns * threads;
    ns = ns < TURNS_MOST_NS ? ns : TURNS_MOST_NS;
    return ns > ranks_ns ? ns : ranks_ns;
}

void wefti_contention_note_yield(weft_contention_t *contention, int64_t elapsed_ns, int threads)
{
    if (elapsed_ns > CONTENDED_YIELD_NS)
        believe(&contention->is_oversubscribed, WAITS_MOST);
    if (elapsed_ns > DEAR_YIELD_NS && elapsed_ns > turns_ns(contention, threads))
        count_long_yield(contention);
    else
        count_short_yield(contention);
}

void wefti_contention_note_gap(weft_contention_t *contention, int64_t elapsed_ns)
{
    if (elapsed_ns > CONTENDED_GAP_NS)
        believe(&contention->is_oversubscribed, WAITS_MOST);
}
