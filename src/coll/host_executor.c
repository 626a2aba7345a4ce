/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps on host memory, which the processor does at once. */
#include "coll/executor.h"

#include "datatype/pack.h"
#include "runtime/lock.h"
#include "runtime/sleepers.h"
#include "base/memory.h"

enum { SPARE_SCRATCH_MAX = 8 << 20 }; /* a larger one is not kept between runs */

/* A function of the user is called without the lock. */
static void host_reduce(weft_plan_run_t *run, const weft_step_t *step)
{
    weft_operands_t operands = {weft_plan_run_address(run, step->from.place),
                                weft_plan_run_address(run, step->second),
                                weft_plan_run_address(run, step->to.place), step->to.count};
    if (!run->op->is_predefined) {
        weft_sleepers_step_out();
        weft_unlock();
    }
    int err = weft_op_combine(run->op, step->to.type, &operands);
    if (!run->op->is_predefined)
        weft_lock();
    if (err != MPI_SUCCESS)
        weft_request_note_error(&run->request, err);
}

static void host_copy(weft_plan_run_t *run, const weft_step_t *step)
{
    weft_copy_typed(weft_plan_run_address(run, step->from.place), step->from.count, step->from.type,
                    weft_plan_run_address(run, step->to.place), step->to.count, step->to.type);
}

static bool host_is_free(weft_plan_run_t *run, const weft_step_t *next)
{
    (void)run, (void)next;
    return true;
}

static void host_begin_section(weft_plan_run_t *run, int index)
{
    (void)run, (void)index; /* its steps follow */
}

static void host_drain(weft_plan_run_t *run)
{
    (void)run;
}

static bool host_take_scratch(weft_plan_run_t *run)
{
    weft_plan_t *plan = run->plan;
    run->buffers[WEFT_SCRATCH] = run->small_scratch;
    if (plan->scratch_bytes <= WEFT_SMALL_SCRATCH)
        return true;
    run->buffers[WEFT_SCRATCH] = plan->spare_scratch;
    plan->spare_scratch = NULL;
    if (run->buffers[WEFT_SCRATCH] == NULL)
        run->buffers[WEFT_SCRATCH] = weft_alloc(plan->scratch_bytes);
    return run->buffers[WEFT_SCRATCH] != NULL;
}

static void host_give_scratch(weft_plan_run_t *run)
{
    weft_plan_t *plan = run->plan;
    char *scratch = run->buffers[WEFT_SCRATCH];
    if (scratch == run->small_scratch)
        return;
    if (plan->spare_scratch == NULL && plan->scratch_bytes <= SPARE_SCRATCH_MAX)
        plan->spare_scratch = scratch;
    else
        weft_free(scratch);
}

static bool host_open_part(weft_plan_run_t *part, const weft_plan_run_t *whole, int index)
{
    (void)whole, (void)index;
    part->state = NULL;
    return true;
}

static void host_close(weft_plan_run_t *run)
{
    (void)run;
}

const weft_executor_t weft_host_executor = {.is_immediate = true,
                                            .reduce = host_reduce,
                                            .copy = host_copy,
                                            .is_free = host_is_free,
                                            .begin_section = host_begin_section,
                                            .drain = host_drain,
                                            .take_scratch = host_take_scratch,
                                            .give_scratch = host_give_scratch,
                                            .open_part = host_open_part,
                                            .close = host_close};
