/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's plan as a message to the daemons.
 * fuzz: runs=200000 most=1000 of=launch/tree,launch/plan,launch/loop,base
 */
#include "input.h"

#include "base/memory.h"
#include "launch/tree/plan_message.h"
#include "mpi.h"

static void use_received(const wl_job_plan_t *plan)
{
    fuzz_expect(plan->size == plan->placement.size && plan->size > 0, "ranks have no places");
    for (int rank = 0; rank < plan->size; rank++) {
        wl_variables_t environment;
        const wl_app_t *app = wl_job_plan_app_of(plan, rank);
        fuzz_expect(app->arguments[0] != NULL, "there is no program");
        fuzz_expect(strlen(plan->placement.hosts[plan->placement.host_of[rank]].name) < 1000,
                    "a host has a strange name");
        if (rank == 0 && wl_job_plan_environment(plan, rank, &environment) == MPI_SUCCESS)
            wl_variables_release(&environment);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wl_received_plan_t received;
    const wl_message_t message = {.body = (const char *)data, .bytes = bytes};
    if (wl_plan_read(&message, &received) == MPI_SUCCESS)
        use_received(&received.plan);
    for (int i = 0; i < received.plan.app_count; i++)
        weft_free(received.plan.apps[i].arguments);
    wl_job_plan_release(&received.plan);
    wl_queue_release(&received.text);
    return 0;
}
