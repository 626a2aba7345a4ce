/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank for itself, with the messages of a plan that knows nothing of devices: `stepped` runs it on
 * device memory, and so does `levels` with what is not a section; `staged` on host memory that stands
 * for it.
 */
#include "devcoll/job_private.h"

#include "devcoll/device_executor.h"
#include "devcoll/section_job.h"
#include "pt2pt/pt2pt.h"
#include "base/log.h"

/* ---- staged ---- */

/* Between the user's memory and the shadow of a side. */
static void copy_shadow(weft_job_t *job, weft_side_t side)
{
    const weft_regions_t *regions = &job->sides[side];
    const weft_shadow_t *shadow = weft_shadows_of(&job->shadows, regions);
    for (int i = 0; shadow != NULL && i < regions->count; i++) {
        weft_region_t region = weft_regions_at(regions, i);
        if (region.count == 0)
            continue;
        weft_elements_t user = {regions->buf + region.offset, region.count, region.type};
        weft_elements_t host = {weft_shadow_at(shadow, region.offset), region.count, region.type};
        wefti_job_copy(job, side == WEFT_GIVES ? &user : &host, side == WEFT_GIVES ? &host : &user);
    }
}

static void end_staged(weft_job_t *job)
{
    weft_shadows_close(&job->shadows);
    wefti_job_finish(job);
}

static void copy_results(weft_job_t *job)
{
    wefti_job_step(job, end_staged);
    if (wefti_job_error(job) == MPI_SUCCESS)
        copy_shadow(job, WEFT_GETS);
    wefti_job_go_on(job);
}

static void run_on_host(weft_job_t *job)
{
    weft_request_t *request = NULL;
    weft_coll_args_t args = weft_shadows_args(&job->shadows, &job->args);
    wefti_job_step(job, copy_results);
    job->place.error = wefti_job_error(job); /* the others wait for messages */
    if (job->place.error != MPI_SUCCESS)
        weft_request_result(&job->request);
    int err = weft_engine_begin_at(job->plan, &args, &job->place, &request);
    wefti_job_watch(job, err, request);
    wefti_job_go_on(job);
}

static void begin_staged(weft_job_t *job)
{
    wefti_job_step(job, run_on_host);
    int err = weft_shadows_open(job->coll, &job->args, &job->shadows);
    if (err == MPI_SUCCESS)
        copy_shadow(job, WEFT_GIVES);
    else
        weft_request_note_error(&job->request, err);
    wefti_job_go_on(job);
}

/* ---- stepped, or in levels ---- */

static void begin_stepped(weft_job_t *job, weft_device_t *device, bool does_sections)
{
    weft_request_t *request = NULL;
    wefti_job_step(job, wefti_job_finish);
    int err = weft_device_executor_open(device, does_sections, job->section_number, &job->place);
    if (err == MPI_SUCCESS)
        err = weft_engine_begin_at(job->plan, &job->args, &job->place, &request);
    if (err != MPI_SUCCESS && job->place.state != NULL)
        weft_device_executor_drop(&job->place);
    wefti_job_watch(job, err, request);
    wefti_job_go_on(job);
}

/* ---- each for himself ---- */

/* The device of a side; NULL: host memory, or no data. */
static weft_device_t *device_of(const weft_regions_t *regions)
{
    weft_memory_t memory;
    const void *first = weft_regions_first(regions);
    if (first == NULL || !weft_is_device(first) || weft_memory_look(first, &memory) != MPI_SUCCESS)
        return NULL;
    return memory.device;
}

/* A kernel reaches both sides, or the one that there is. */
static bool can_reduce(const weft_job_t *job, weft_device_t *gives, weft_device_t *gets)
{
    bool has_result = weft_regions_first(&job->sides[WEFT_GETS]) != NULL;
    return gives != NULL && (gets == gives || !has_result) &&
           weft_device_can_reduce(gives, job->args.op, job->args.recv_type);
}

/* Is there anything that the ranks of this host could do together? */
static bool has_sections(const weft_job_t *job)
{
    return job->plan->meetings > 0 && weft_section_job_can_meet(job->request.comm);
}

void wefti_job_begin_alone(weft_job_t *job)
{
    weft_device_t *gives = device_of(&job->sides[WEFT_GIVES]);
    weft_device_t *gets = device_of(&job->sides[WEFT_GETS]);
    bool can_step = job->args.op == NULL || can_reduce(job, gives, gets);
    unsigned possible = WEFT_WAY_STAGED | (can_step ? WEFT_WAY_STEPPED : 0u);
    if (can_step && has_sections(job))
        possible |= WEFT_WAY_LEVELS;
    weft_way_flag_t way = wefti_job_way(job, possible);
    WEFT_LOG(WEFT_DEBUG, "coll", "device memory: %s", weft_device_way_name(way));
    if (way == WEFT_WAY_STAGED)
        begin_staged(job);
    else
        begin_stepped(job, gives != NULL ? gives : gets, way == WEFT_WAY_LEVELS);
}

