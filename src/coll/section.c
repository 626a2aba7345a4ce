/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/section.h"

#include "base/memory.h"

static bool make_section_room(weft_plan_t *plan)
{
    size_t room = (size_t)plan->section_count + 1;
    weft_plan_section_t **sections =
        weft_realloc(plan->sections, room * sizeof(weft_plan_section_t *));
    if (sections != NULL)
        plan->sections = sections;
    return sections != NULL;
}

static void copy_data(weft_plan_section_t *section, int first, int count, const weft_data_t *data)
{
    for (int i = 0; i < count; i++) {
        section->data[first + i] = data[i];
        weft_type_retain(data[i].type);
    }
}

static weft_plan_section_t *create_section(const weft_section_call_t *call)
{
    size_t regions = (size_t)call->gives_count + (size_t)call->gets_count;
    weft_plan_section_t *section = weft_alloc(sizeof(*section) + regions * sizeof(weft_data_t));
    if (section == NULL)
        return NULL;
    section->call = *call;
    copy_data(section, 0, call->gives_count, call->gives);
    copy_data(section, call->gives_count, call->gets_count, call->gets);
    section->call.gives = section->data;
    section->call.gets = section->data + call->gives_count;
    return section;
}

void weft_section_begin(weft_plan_t *plan, const weft_section_call_t *call)
{
    plan->is_in_section = call->members > 1;
    if (!plan->is_in_section)
        return;
    weft_plan_section_t *section = make_section_room(plan) ? create_section(call) : NULL;
    if (section == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        plan->is_in_section = false;
        return;
    }
    section->call.waits = call->waits || plan->next_waits;
    weft_plan_mark_section(plan, plan->section_count);
    section->end = plan->count;
    plan->sections[plan->section_count++] = section;
}

void weft_section_end(weft_plan_t *plan)
{
    if (plan->is_in_section)
        plan->sections[plan->section_count - 1]->end = plan->count;
    plan->is_in_section = false;
}

uint32_t weft_plan_meetings(const weft_plan_t *plan)
{
    int most = 0;
    for (int i = 0; i < plan->part_count; i++) {
        int count = plan->parts[i]->section_count;
        most = count > most ? count : most;
    }
    return (uint32_t)(plan->section_count + plan->part_count * most);
}

void weft_sections_release(weft_plan_t *plan)
{
    for (int i = 0; i < plan->section_count; i++) {
        weft_plan_section_t *section = plan->sections[i];
        for (int j = 0; j < section->call.gives_count + section->call.gets_count; j++)
            weft_type_release(section->data[j].type);
        weft_free(section);
    }
    weft_free(plan->sections);
}
