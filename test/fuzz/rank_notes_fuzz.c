/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes through the pipe into which the ranks of a host write their notes. Any program of the
 * job can write there.
 * fuzz: runs=100000 most=1200 of=launch/node,base
 */
#include "input.h"

#include "base/log.h"
#include "launch/node/rank_notes.h"
#include "mpi.h"

enum { RANKS = 6, HERE = 3 };

/* The ranks 1, 3 and 5 are on this host. */
static const wl_job_plan_t *make_plan(void)
{
    static int ranks[HERE] = {1, 3, 5}, local_rank[RANKS] = {0, 0, 1, 1, 2, 2};
    static wl_placed_host_t host = {.name = "here", .ranks = ranks, .count = HERE};
    static wl_job_plan_t plan = {.size = RANKS};
    plan.placement =
        (wl_placement_t){.hosts = &host, .host_count = 1, .size = RANKS, .local_rank = local_rank};
    weft_log_threshold = -1;
    return &plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wl_loop_t loop;
    wl_rank_notes_t notes;
    wl_rank_event_t event;
    wl_loop_open(&loop);
    fuzz_expect(wl_rank_notes_open(make_plan(), 0, &loop, &notes) == MPI_SUCCESS,
                "there is no pipe");
    fuzz_expect(write(notes.inherited, data, bytes) == (ssize_t)bytes, "the pipe is too small");
    while (wl_rank_notes_next(&notes, &event)) {
        fuzz_expect(event.rank == 1 || event.rank == 3 || event.rank == 5, "a rank is elsewhere");
        fuzz_expect(memchr(event.text, '\0', sizeof(event.text)) != NULL, "a text has no end");
        fuzz_expect(wl_rank_notes_has_written(&notes, event.rank), "a note is forgotten");
    }
    fuzz_expect(!wl_rank_notes_has_written(&notes, 0), "a rank of another host has written");
    wl_rank_notes_close(&notes);
    wl_loop_close(&loop);
    return 0;
}
