/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/plan.h"

#include "coll/section.h"
#include "base/memory.h"

#include <string.h>

enum { SCRATCH_ALIGNMENT = 64 };

weft_plan_t *weft_plan_create(const weft_how_t *how)
{
    weft_plan_t *plan = weft_alloc(sizeof(*plan));
    if (plan == NULL)
        return NULL;
    memset(plan, 0, offsetof(weft_plan_t, few));
    plan->references = 1;
    plan->steps = plan->few;
    plan->room = WEFT_FEW_STEPS;
    plan->how = *how;
    return plan;
}

static void release_types(const weft_step_t *step)
{
    if (step->from.type != NULL)
        weft_type_release(step->from.type);
    if (step->to.type != NULL)
        weft_type_release(step->to.type);
}

void weft_plan_free(weft_plan_t *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        release_types(&plan->steps[i]);
    for (int i = 0; i < plan->part_count; i++)
        weft_plan_release(plan->parts[i]);
    weft_free(plan->parts);
    weft_sections_release(plan);
    if (plan->steps != plan->few)
        weft_free(plan->steps);
    weft_free(plan->spare_scratch);
    weft_free(plan);
}

static bool make_step_room(weft_plan_t *plan)
{
    if (plan->count < plan->room)
        return true;
    size_t room = plan->room * 2;
    bool has_few = plan->steps == plan->few;
    weft_step_t *steps = weft_realloc(has_few ? NULL : plan->steps, room * sizeof(*steps));
    if (steps == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        return false;
    }
    if (has_few)
        memcpy(steps, plan->few, sizeof(plan->few));
    plan->steps = steps;
    plan->room = room;
    return true;
}

static void append_step(weft_plan_t *plan, const weft_step_t *step)
{
    if (!make_step_room(plan))
        return;
    weft_step_t *added = &plan->steps[plan->count++];
    *added = *step;
    added->waits = plan->next_waits;
    plan->next_waits = false;
    if (added->from.type != NULL)
        weft_type_retain(added->from.type);
    if (added->to.type != NULL)
        weft_type_retain(added->to.type);
}

void weft_plan_send(weft_plan_t *plan, weft_data_t from, int peer)
{
    if (from.count * from.type->size > 0)
        append_step(plan, &(weft_step_t){.kind = WEFT_STEP_SEND, .from = from, .peer = peer});
}

void weft_plan_recv(weft_plan_t *plan, weft_data_t to, int peer)
{
    if (to.count * to.type->size > 0)
        append_step(plan, &(weft_step_t){.kind = WEFT_STEP_RECV, .to = to, .peer = peer});
}

void weft_plan_reduce(weft_plan_t *plan, weft_place_t a, weft_place_t b, weft_data_t to)
{
    if (to.count * to.type->size == 0)
        return;
    weft_data_t from = {a, to.count, to.type};
    append_step(plan,
                &(weft_step_t){.kind = WEFT_STEP_REDUCE, .from = from, .second = b, .to = to});
}

static bool is_same(const weft_data_t *a, const weft_data_t *b)
{
    return a->place.buffer == b->place.buffer && a->place.offset == b->place.offset &&
           (a->type == b->type || (a->type->is_dense && b->type->is_dense));
}

void weft_plan_copy(weft_plan_t *plan, weft_data_t from, weft_data_t to)
{
    if (from.count * from.type->size == 0 || is_same(&from, &to))
        return;
    append_step(plan, &(weft_step_t){.kind = WEFT_STEP_COPY, .from = from, .to = to});
}

void weft_plan_wait(weft_plan_t *plan)
{
    plan->next_waits = true;
}

/* This step itself waits for nothing; where sections are run step by step, their first steps
 * wait. */
void weft_plan_mark_section(weft_plan_t *plan, int index)
{
    bool waits = plan->next_waits;
    plan->next_waits = false;
    append_step(plan, &(weft_step_t){.kind = WEFT_STEP_SECTION, .peer = index});
    plan->next_waits = waits;
}

/* Element 0 is aligned like memory from the heap. */
weft_place_t weft_plan_scratch(weft_plan_t *plan, size_t count, const weft_type_t *type)
{
    ptrdiff_t taken = (ptrdiff_t)plan->scratch_bytes, low, high;
    if (count == 0)
        return weft_place_at(WEFT_SCRATCH, taken);
    weft_type_room(type, count, &low, &high);
    ptrdiff_t first = (taken - low + SCRATCH_ALIGNMENT - 1) & -(ptrdiff_t)SCRATCH_ALIGNMENT;
    if (first + high > taken)
        plan->scratch_bytes = (size_t)(first + high);
    return weft_place_at(WEFT_SCRATCH, first);
}

/* Parts run at the same time, so each has scratch memory of its own. */
static bool write_part(weft_plan_t *plan, weft_part_fn_t write, const void *context)
{
    weft_plan_t *part = weft_plan_create(&plan->how);
    if (part == NULL)
        return false;
    int index = plan->part_count;
    plan->parts[plan->part_count++] = part;
    part->scratch_bytes = plan->scratch_bytes;
    write(part, context, index);
    plan->scratch_bytes = part->scratch_bytes;
    append_step(plan, &(weft_step_t){.kind = WEFT_STEP_PART, .peer = index});
    return part->error == MPI_SUCCESS;
}

void weft_plan_parts(weft_plan_t *plan, int count, weft_part_fn_t write, const void *context)
{
    if (count == 1) {
        write(plan, context, 0);
        return;
    }
    plan->parts = weft_alloc_zeroed((size_t)count, sizeof(*plan->parts));
    for (int i = 0; i < count; i++) {
        if (plan->parts == NULL || !write_part(plan, write, context)) {
            plan->error = MPI_ERR_NO_MEM;
            return;
        }
    }
}

static weft_data_t nothing(void)
{
    return (weft_data_t){weft_place_at(WEFT_OUT, 0), 0, weft_type_of(MPI_BYTE)};
}

void weft_plan_signal(weft_plan_t *plan, int peer)
{
    append_step(plan, &(weft_step_t){.kind = WEFT_STEP_SEND, .from = nothing(), .peer = peer});
}

void weft_plan_await(weft_plan_t *plan, int peer)
{
    append_step(plan, &(weft_step_t){.kind = WEFT_STEP_RECV, .to = nothing(), .peer = peer});
}
