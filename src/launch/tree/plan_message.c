/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/plan_message.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

/* ---- Writing ---- */

static void write_placement(const weft_placement_t *placement, weft_writer_t *out)
{
    weft_write_u32(out, (uint32_t)placement->host_count);
    for (int i = 0; i < placement->host_count; i++)
        weft_write_text(out, placement->hosts[i].name);
    weft_write_u32(out, (uint32_t)placement->size);
    for (int rank = 0; rank < placement->size; rank++)
        weft_write_u32(out, (uint32_t)placement->host_of[rank]);
}

static void write_texts(char *const *texts, weft_writer_t *out)
{
    uint32_t count = 0;
    while (texts[count] != NULL)
        count++;
    weft_write_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        weft_write_text(out, texts[i]);
}

static void write_app(const weft_app_t *app, weft_writer_t *out)
{
    weft_write_u32(out, (uint32_t)app->count);
    weft_write_u32(out, app->inherits_all);
    weft_write_text(out, app->directory);
    weft_write_text(out, app->search);
    write_texts(app->arguments, out);
    write_texts(app->environment.entries, out);
}

static void write_files(const weft_rank_files_t *files, weft_writer_t *out)
{
    for (int channel = 0; channel < 2; channel++)
        weft_write_text(out, files->patterns[channel]);
    weft_write_text(out, files->folder);
    weft_write_u32(out, files->joins_errors);
    weft_write_u32(out, (uint32_t)files->input_rank);
}

void weft_plan_write(const weft_job_plan_t *plan, const char *directory, const char *agent,
                     weft_writer_t *out)
{
    weft_write_text(out, plan->launcher);
    weft_write_text(out, plan->id);
    weft_write_text(out, plan->token);
    weft_write_text(out, directory);
    weft_write_text(out, agent);
    weft_write_text(out, plan->route.prefix);
    weft_write_text(out, plan->route.interface);
    weft_write_u32(out, (uint32_t)plan->route.radix);
    weft_write_u32(out, (uint32_t)plan->route.lost_after_s);
    weft_write_u32(out, plan->tags_lines);
    weft_write_u32(out, plan->is_unbound);
    write_files(&plan->files, out);
    write_placement(&plan->placement, out);
    weft_write_u32(out, (uint32_t)plan->app_count);
    for (int i = 0; i < plan->app_count; i++)
        write_app(&plan->apps[i], out);
}

/* ---- Reading ---- */

static int failed(const weft_reader_t *reader)
{
    return reader->has_failed
               ? weft_fail(MPI_ERR_OTHER, "the plan of the job was not received whole")
               : weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
}

/* [count + 1] texts, with a NULL at the end; to be freed. NULL: failed. */
static char **read_texts(weft_reader_t *reader, int *count_out)
{
    uint32_t count = weft_read_count(reader, sizeof(uint32_t));
    char **texts = weft_alloc_zeroed((size_t)count + 1, sizeof(*texts));
    for (uint32_t i = 0; i < count && texts != NULL; i++)
        texts[i] = (char *)weft_read_text(reader);
    *count_out = (int)count;
    return texts;
}

static int *read_numbers(weft_reader_t *reader, int *count_out)
{
    uint32_t count = weft_read_count(reader, sizeof(uint32_t));
    int *numbers = weft_alloc_array((size_t)count, sizeof(*numbers));
    for (uint32_t i = 0; i < count && numbers != NULL; i++)
        numbers[i] = (int)weft_read_u32(reader);
    *count_out = (int)count;
    return numbers;
}

static int read_placement(weft_reader_t *reader, weft_placement_t *out)
{
    int host_count = 0, size = 0;
    char **names = read_texts(reader, &host_count);
    int *host_of = read_numbers(reader, &size);
    int err = names != NULL && host_of != NULL && !reader->has_failed && host_count > 0 && size > 0
                  ? weft_placement_rebuild(host_of, size, names, host_count, out)
                  : failed(reader);
    weft_free(names);
    weft_free(host_of);
    return err;
}

static int read_environment(weft_reader_t *reader, weft_variables_t *out)
{
    int count = 0;
    char **entries = read_texts(reader, &count);
    if (entries == NULL || reader->has_failed) {
        weft_free(entries);
        return failed(reader);
    }
    weft_variables_t view = {.entries = entries, .count = count};
    int err = weft_variables_merge(out, &view);
    weft_free(entries);
    return err;
}

static int read_app(weft_reader_t *reader, const weft_job_plan_t *plan, weft_app_t *out)
{
    int words = 0;
    out->count = (int)weft_read_u32(reader);
    out->inherits_all = weft_read_u32(reader) != 0;
    out->first_rank = plan->size;
    out->directory = weft_read_text(reader);
    out->search = weft_read_text(reader);
    out->arguments = read_texts(reader, &words);
    if (reader->has_failed || out->arguments == NULL || words == 0 || out->count < 1 ||
        out->count > plan->placement.size - plan->size)
        return failed(reader);
    return read_environment(reader, &out->environment);
}

static int read_apps(weft_reader_t *reader, weft_job_plan_t *plan)
{
    uint32_t count = weft_read_count(reader, 4 * sizeof(uint32_t));
    plan->apps = weft_alloc_zeroed(count, sizeof(*plan->apps));
    if (plan->apps == NULL || count == 0)
        return failed(reader);
    int err = MPI_SUCCESS;
    for (; plan->app_count < (int)count && err == MPI_SUCCESS; plan->app_count++) {
        weft_app_t *app = &plan->apps[plan->app_count];
        err = read_app(reader, plan, app);
        plan->size += app->count;
    }
    if (err == MPI_SUCCESS && plan->size != plan->placement.size)
        err = weft_fail(MPI_ERR_OTHER, "the plan of the job has %d ranks and %d places", plan->size,
                        plan->placement.size);
    return err;
}

static void read_route(weft_reader_t *reader, weft_route_t *out)
{
    out->agent = weft_read_text(reader);
    out->prefix = weft_read_text(reader);
    out->interface = weft_read_text(reader);
    out->radix = (int)weft_read_u32(reader);
    out->lost_after_s = (int)weft_read_u32(reader);
}

static void read_files(weft_reader_t *reader, weft_rank_files_t *out)
{
    for (int channel = 0; channel < 2; channel++)
        out->patterns[channel] = weft_read_text(reader);
    out->folder = weft_read_text(reader);
    out->joins_errors = weft_read_u32(reader) != 0;
    out->input_rank = (int)weft_read_u32(reader);
}

static int read_plan(weft_reader_t *reader, weft_job_plan_t *plan)
{
    plan->launcher = weft_read_text(reader);
    const char *id = weft_read_text(reader), *token = weft_read_text(reader);
    plan->directory = weft_read_text(reader);
    read_route(reader, &plan->route);
    plan->tags_lines = weft_read_u32(reader) != 0;
    plan->is_unbound = weft_read_u32(reader) != 0;
    read_files(reader, &plan->files);
    if (plan->launcher == NULL || id == NULL || token == NULL || plan->route.radix < 1)
        return failed(reader);
    snprintf(plan->id, sizeof(plan->id), "%s", id);
    snprintf(plan->token, sizeof(plan->token), "%s", token);
    int err = read_placement(reader, &plan->placement);
    return err == MPI_SUCCESS ? read_apps(reader, plan) : err;
}

int weft_plan_read(const weft_message_t *message, weft_received_plan_t *out)
{
    *out = (weft_received_plan_t){0};
    if (!weft_queue_append(&out->text, message->body, message->bytes))
        return weft_fail(MPI_ERR_NO_MEM, "the plan of the job");
    weft_reader_t reader = {.at = weft_queue_front(&out->text), .left = message->bytes};
    return read_plan(&reader, &out->plan);
}
