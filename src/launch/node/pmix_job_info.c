/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/node/pmix_job_info.h"

#include "base/fail.h"
#include "launch/loop/byte_queue.h"
#include "mpi.h"

#include <pmix_server.h>
#include <stdio.h>
#include <string.h>

int wl_pmix_infos_open(size_t capacity, wl_pmix_infos_t *out)
{
    *out = (wl_pmix_infos_t){.capacity = capacity};
    PMIX_INFO_CREATE(out->infos, capacity);
    return out->infos != NULL ? MPI_SUCCESS
                              : weft_fail(MPI_ERR_NO_MEM, "%zu infos of the job", capacity);
}

void wl_pmix_infos_release(wl_pmix_infos_t *infos)
{
    PMIX_INFO_FREE(infos->infos, infos->capacity);
    *infos = (wl_pmix_infos_t){0};
}

static void add_info(wl_pmix_infos_t *infos, const char *key, const void *value,
                     pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&infos->infos[infos->count], key, value, type);
    infos->count++;
}

static void add_number(wl_pmix_infos_t *infos, const char *key, int value)
{
    uint32_t number = (uint32_t)value;
    add_info(infos, key, &number, PMIX_UINT32);
}

static void add_short(wl_pmix_infos_t *infos, const char *key, int value)
{
    uint16_t number = (uint16_t)value;
    add_info(infos, key, &number, PMIX_UINT16);
}

void wl_pmix_infos_add_rank(wl_pmix_infos_t *infos, const char *key, pmix_rank_t value)
{
    add_info(infos, key, &value, PMIX_PROC_RANK);
}

void wl_pmix_infos_add_text(wl_pmix_infos_t *infos, const char *key, const char *value)
{
    add_info(infos, key, value, PMIX_STRING);
}

void wl_pmix_infos_add_bool(wl_pmix_infos_t *infos, const char *key, bool value)
{
    add_info(infos, key, &value, PMIX_BOOL);
}

/* Add a copy of `array`, and release `array`. */
static void add_array(wl_pmix_infos_t *infos, const char *key, pmix_data_array_t *array)
{
    add_info(infos, key, array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(array);
}

static void add_app(wl_pmix_infos_t *infos, const wl_job_plan_t *plan, int index)
{
    enum { INFOS = 3 };
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, INFOS, PMIX_INFO);
    wl_pmix_infos_t app = {.infos = array.array};
    add_number(&app, PMIX_APPNUM, index);
    add_number(&app, PMIX_APP_SIZE, plan->apps[index].count);
    wl_pmix_infos_add_rank(&app, PMIX_APPLDR, (pmix_rank_t)plan->apps[index].first_rank);
    add_array(infos, PMIX_APP_INFO_ARRAY, &array);
}

static void add_process(wl_pmix_infos_t *infos, const wl_job_plan_t *plan, int rank)
{
    enum { INFOS = 8 };
    const wl_app_t *app = wl_job_plan_app_of(plan, rank);
    const wl_placement_t *placement = &plan->placement;
    int host = placement->host_of[rank], local_rank = placement->local_rank[rank];
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, INFOS, PMIX_INFO);
    wl_pmix_infos_t process = {.infos = array.array};
    wl_pmix_infos_add_rank(&process, PMIX_RANK, (pmix_rank_t)rank); /* PMIx wants it first */
    add_short(&process, PMIX_LOCAL_RANK, local_rank);
    add_short(&process, PMIX_NODE_RANK, local_rank);
    add_number(&process, PMIX_APPNUM, (int)(app - plan->apps));
    add_number(&process, PMIX_NODEID, host);
    wl_pmix_infos_add_rank(&process, PMIX_GLOBAL_RANK, (pmix_rank_t)rank);
    wl_pmix_infos_add_rank(&process, PMIX_APP_RANK, (pmix_rank_t)(rank - app->first_rank));
    wl_pmix_infos_add_text(&process, PMIX_HOSTNAME, placement->hosts[host].name);
    add_array(infos, PMIX_PROC_INFO_ARRAY, &array);
}

static bool append_text(wl_byte_queue_t *text, const char *more)
{
    return wl_queue_append(text, more, strlen(more));
}

/* Append "0,1,4": the ranks of a host. */
static bool append_ranks(wl_byte_queue_t *text, const wl_placed_host_t *host)
{
    bool is_complete = true;
    for (int i = 0; i < host->count && is_complete; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%s%d", i == 0 ? "" : ",", host->ranks[i]);
        is_complete = append_text(text, number);
    }
    return is_complete;
}

/*
 * "raw:a,b" and "raw:0,1;2,3" for a job with two ranks on each of two hosts. PMIx takes lists in
 * this form where it takes those that PMIx_generate_regex() makes, a function that in PMIx 4.2
 * overruns its stack when a name begins with 50 letters.
 */
static int list_places(const wl_placement_t *placement, wl_byte_queue_t *names,
                       wl_byte_queue_t *ranks)
{
    bool is_complete = append_text(names, "raw:") && append_text(ranks, "raw:");
    for (int i = 0; i < placement->host_count && is_complete; i++) {
        const wl_placed_host_t *host = &placement->hosts[i];
        is_complete = (i == 0 || (append_text(names, ",") && append_text(ranks, ";"))) &&
                      append_text(names, host->name) && append_ranks(ranks, host);
    }
    return is_complete && wl_queue_append(names, "", 1) && wl_queue_append(ranks, "", 1)
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "a list of %d hosts", placement->host_count);
}

static int add_places(wl_pmix_infos_t *infos, const wl_placement_t *placement, int host)
{
    wl_byte_queue_t names = {0}, ranks = {0}, peers = {0};
    int err = list_places(placement, &names, &ranks);
    if (err == MPI_SUCCESS) {
        /* PMIx derives node list, local size, local ranks and more from the two maps. */
        add_info(infos, PMIX_NODE_MAP, wl_queue_front(&names), PMIX_REGEX);
        add_info(infos, PMIX_PROC_MAP, wl_queue_front(&ranks), PMIX_REGEX);
    }
    if (err == MPI_SUCCESS &&
        !(append_ranks(&peers, &placement->hosts[host]) && wl_queue_append(&peers, "", 1)))
        err = weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", placement->hosts[host].count);
    if (err == MPI_SUCCESS)
        wl_pmix_infos_add_text(infos, PMIX_LOCAL_PEERS, wl_queue_front(&peers));
    wl_queue_release(&names);
    wl_queue_release(&ranks);
    wl_queue_release(&peers);
    return err;
}

int wl_pmix_infos_of_job(const wl_job_plan_t *plan, int host, const char *directory,
                         wl_pmix_infos_t *out)
{
    enum { FACTS_OF_JOB = 13 };
    const wl_placement_t *placement = &plan->placement;
    int err = wl_pmix_infos_open((size_t)(FACTS_OF_JOB + plan->app_count + plan->size), out);
    if (err != MPI_SUCCESS)
        return err;
    add_number(out, PMIX_JOB_SIZE, plan->size);
    add_number(out, PMIX_UNIV_SIZE, plan->size);
    add_number(out, PMIX_MAX_PROCS, plan->size);
    add_number(out, PMIX_LOCAL_SIZE, placement->hosts[host].count);
    add_number(out, PMIX_NODE_SIZE, placement->hosts[host].count);
    add_number(out, PMIX_NUM_NODES, placement->host_count);
    add_number(out, PMIX_JOB_NUM_APPS, plan->app_count);
    wl_pmix_infos_add_text(out, PMIX_JOBID, plan->id);
    wl_pmix_infos_add_text(out, PMIX_TMPDIR, directory);
    wl_pmix_infos_add_text(out, PMIX_NSDIR, directory);
    err = add_places(out, placement, host);
    for (int i = 0; i < plan->app_count; i++)
        add_app(out, plan, i);
    for (int rank = 0; rank < plan->size; rank++)
        add_process(out, plan, rank);
    if (err != MPI_SUCCESS)
        wl_pmix_infos_release(out);
    return err;
}
