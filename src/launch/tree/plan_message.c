/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/plan_message.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

/* ---- Writing ---- */

static void write_placement(const wl_placement_t *placement, wl_writer_t *out)
{
    wl_write_u32(out, (uint32_t)placement->host_count);
    for (int i = 0; i < placement->host_count; i++)
        wl_write_text(out, placement->hosts[i].name);
    wl_write_u32(out, (uint32_t)placement->size);
    for (int rank = 0; rank < placement->size; rank++)
        wl_write_u32(out, (uint32_t)placement->host_of[rank]);
}

static void write_texts(char *const *texts, wl_writer_t *out)
{
    uint32_t count = 0;
    while (texts[count] != NULL)
        count++;
    wl_write_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        wl_write_text(out, texts[i]);
}

static void write_app(const wl_app_t *app, wl_writer_t *out)
{
    wl_write_u32(out, (uint32_t)app->count);
    wl_write_u32(out, app->inherits_all);
    wl_write_text(out, app->directory);
    wl_write_text(out, app->search);
    write_texts(app->arguments, out);
    write_texts(app->environment.entries, out);
}

static void write_files(const wl_rank_files_t *files, wl_writer_t *out)
{
    for (int channel = 0; channel < 2; channel++)
        wl_write_text(out, files->patterns[channel]);
    wl_write_text(out, files->folder);
    wl_write_u32(out, files->joins_errors);
    wl_write_u32(out, (uint32_t)files->input_rank);
}

void wl_plan_write(const wl_job_plan_t *plan, const char *directory, const char *agent,
                   wl_writer_t *out)
{
    wl_write_text(out, plan->launcher);
    wl_write_text(out, plan->id);
    wl_write_text(out, directory);
    wl_write_text(out, agent);
    wl_write_text(out, plan->route.prefix);
    wl_write_text(out, plan->route.interface);
    wl_write_u32(out, (uint32_t)plan->route.radix);
    wl_write_u32(out, (uint32_t)plan->route.lost_after_s);
    wl_write_u32(out, plan->tags_lines);
    wl_write_u32(out, plan->is_unbound);
    wl_write_u32(out, plan->wants_mps);
    wl_write_u32(out, plan->survives_losses);
    wl_write_u32(out, plan->replaces_lost);
    wl_write_u32(out, plan->wants_host_facts);
    write_files(&plan->files, out);
    write_placement(&plan->placement, out);
    wl_write_u32(out, (uint32_t)plan->app_count);
    for (int i = 0; i < plan->app_count; i++)
        write_app(&plan->apps[i], out);
}

/* ---- Reading ---- */

static int failed(const wl_reader_t *reader)
{
    return reader->has_failed
               ? weft_fail(MPI_ERR_OTHER, "the plan of the job was not received whole")
               : weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
}

/* Read texts: [count + 1] with a NULL at the end, to be freed. NULL: no memory. The reader fails
 * where one of them is missing. */
static char **read_texts(wl_reader_t *reader, int *count_out)
{
    uint32_t count = wl_read_count(reader, sizeof(uint32_t));
    char **texts = weft_alloc_zeroed((size_t)count + 1, sizeof(*texts));
    for (uint32_t i = 0; i < count && texts != NULL; i++) {
        texts[i] = (char *)wl_read_text(reader);
        if (texts[i] == NULL)
            reader->has_failed = true; /* a NULL would end the list early */
    }
    *count_out = (int)count;
    return texts;
}

static int *read_numbers(wl_reader_t *reader, int *count_out)
{
    uint32_t count = wl_read_count(reader, sizeof(uint32_t));
    int *numbers = weft_alloc_array((size_t)count, sizeof(*numbers));
    for (uint32_t i = 0; i < count && numbers != NULL; i++)
        numbers[i] = (int)wl_read_u32(reader);
    *count_out = (int)count;
    return numbers;
}

static int plan_read_placement(wl_reader_t *reader, wl_placement_t *out)
{
    int host_count = 0, size = 0;
    char **names = read_texts(reader, &host_count);
    int *host_of = read_numbers(reader, &size);
    int err = names != NULL && host_of != NULL && !reader->has_failed && host_count > 0 && size > 0
                  ? wl_placement_rebuild(host_of, size, names, host_count, out)
                  : failed(reader);
    weft_free(names);
    weft_free(host_of);
    return err;
}

static int read_environment(wl_reader_t *reader, wl_variables_t *out)
{
    int count = 0;
    char **entries = read_texts(reader, &count);
    if (entries == NULL || reader->has_failed) {
        weft_free(entries);
        return failed(reader);
    }
    wl_variables_t view = {.entries = entries, .count = count};
    int err = wl_variables_merge(out, &view);
    weft_free(entries);
    return err;
}

static int read_app(wl_reader_t *reader, const wl_job_plan_t *plan, wl_app_t *out)
{
    int words = 0;
    out->count = (int)wl_read_u32(reader);
    out->inherits_all = wl_read_u32(reader) != 0;
    out->first_rank = plan->size;
    out->directory = wl_read_text(reader);
    out->search = wl_read_text(reader);
    out->arguments = read_texts(reader, &words);
    if (reader->has_failed || out->arguments == NULL || words == 0 || out->count < 1 ||
        out->count > plan->placement.size - plan->size)
        return failed(reader);
    return read_environment(reader, &out->environment);
}

static int read_apps(wl_reader_t *reader, wl_job_plan_t *plan)
{
    uint32_t count = wl_read_count(reader, 4 * sizeof(uint32_t));
    plan->apps = weft_alloc_zeroed(count, sizeof(*plan->apps));
    if (plan->apps == NULL || count == 0)
        return failed(reader);
    int err = MPI_SUCCESS;
    for (; plan->app_count < (int)count && err == MPI_SUCCESS; plan->app_count++) {
        wl_app_t *app = &plan->apps[plan->app_count];
        err = read_app(reader, plan, app);
        if (err == MPI_SUCCESS)
            plan->size += app->count; /* at most the number of places, as read_app() has checked */
    }
    if (err == MPI_SUCCESS && plan->size != plan->placement.size)
        err = weft_fail(MPI_ERR_OTHER, "the plan of the job has %d ranks and %d places", plan->size,
                        plan->placement.size);
    return err;
}

static void read_route(wl_reader_t *reader, wl_route_t *out)
{
    out->agent = wl_read_text(reader);
    out->prefix = wl_read_text(reader);
    out->interface = wl_read_text(reader);
    out->radix = (int)wl_read_u32(reader);
    out->lost_after_s = (int)wl_read_u32(reader);
}

static void read_files(wl_reader_t *reader, wl_rank_files_t *out)
{
    for (int channel = 0; channel < 2; channel++)
        out->patterns[channel] = wl_read_text(reader);
    out->folder = wl_read_text(reader);
    out->joins_errors = wl_read_u32(reader) != 0;
    out->input_rank = (int)wl_read_u32(reader);
}

/* These are used as divisor, index and time. */
static int check_numbers(const wl_job_plan_t *plan)
{
    int input_rank = plan->files.input_rank;
    if (plan->route.radix < 1 || plan->route.lost_after_s < 0 || input_rank < WL_NO_RANK ||
        input_rank >= plan->placement.size)
        return weft_fail(MPI_ERR_OTHER,
                         "the plan of the job, of %d ranks, has a tree of %d branches, input for "
                         "rank %d and a limit of %d s",
                         plan->placement.size, plan->route.radix, input_rank,
                         plan->route.lost_after_s);
    return MPI_SUCCESS;
}

static int read_plan(wl_reader_t *reader, wl_job_plan_t *plan)
{
    plan->launcher = wl_read_text(reader);
    const char *id = wl_read_text(reader);
    plan->directory = wl_read_text(reader);
    read_route(reader, &plan->route);
    plan->tags_lines = wl_read_u32(reader) != 0;
    plan->is_unbound = wl_read_u32(reader) != 0;
    plan->wants_mps = wl_read_u32(reader) != 0;
    plan->survives_losses = wl_read_u32(reader) != 0;
    plan->replaces_lost = wl_read_u32(reader) != 0;
    plan->wants_host_facts = wl_read_u32(reader) != 0;
    read_files(reader, &plan->files);
    if (plan->launcher == NULL || id == NULL)
        reader->has_failed = true;
    if (reader->has_failed)
        return failed(reader);
    snprintf(plan->id, sizeof(plan->id), "%s", id);
    int err = plan_read_placement(reader, &plan->placement);
    if (err == MPI_SUCCESS)
        err = check_numbers(plan);
    return err == MPI_SUCCESS ? read_apps(reader, plan) : err;
}

int wl_plan_read(const wl_message_t *message, wl_received_plan_t *out)
{
    *out = (wl_received_plan_t){0};
    if (!wl_queue_append(&out->text, message->body, message->bytes))
        return weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
    wl_reader_t reader = {.at = wl_queue_front(&out->text), .left = message->bytes};
    return read_plan(&reader, &out->plan);
}
