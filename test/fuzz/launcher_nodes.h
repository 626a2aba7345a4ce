/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of four hosts, for the entry points that give messages to a node of its tree:
 *
 *            mpirun (0)
 *        a (1)       b (2)
 *     c (3)  d (4)
 */
#ifndef WEFT_TEST_FUZZ_LAUNCHER_NODES_H
#define WEFT_TEST_FUZZ_LAUNCHER_NODES_H

#include "input.h"

#include "base/memory.h"
#include "launch/plan/launch_options.h"
#include "launch/tree/router.h"
#include "mpi.h"

static inline const wl_job_plan_t *fuzz_plan(void)
{
    static char *words[] = {"mpirun", "-host", "a:2,b,c,d:2", "-n", "6", "prog", NULL};
    static wl_job_plan_t plan;
    if (plan.size == 0)
        fuzz_expect(wl_options_parse(6, words, &plan) == MPI_SUCCESS &&
                        wl_job_plan_complete(&plan) == MPI_SUCCESS,
                    "the plan cannot be made");
    return &plan;
}

/* A node whose connections are all closed. */
static inline void fuzz_open_router(int self, wl_loop_t *loop, wl_router_t *out)
{
    const wl_host_tree_t tree = {.count = 5, .radix = 2};
    wl_loop_open(loop);
    fuzz_expect(wl_router_open(&tree, self, NULL, loop, out) == MPI_SUCCESS, "no router");
}

/* The next message of the input: kind, sender, length, body. Its body is to be freed. */
static inline wl_message_t fuzz_message(fuzz_input_t *input)
{
    wl_message_t message = {.kind = (int)fuzz_byte(input), .from = (int)fuzz_byte(input) % 5};
    size_t bytes = fuzz_short(input) % 512;
    message.bytes = bytes < input->left ? bytes : input->left;
    message.body = fuzz_copy(input->at, message.bytes);
    input->at += message.bytes;
    input->left -= message.bytes;
    return message;
}

#endif
