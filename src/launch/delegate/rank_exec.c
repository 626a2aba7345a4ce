/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/delegate/rank_exec.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/launch_options.h"
#include "launch/plan/number_list.h"
#include "launch/plan/program_search.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES, COUNTS, COMMAND };

static int rank_exec_count_hosts(const int *host_of, int size)
{
    int most = 0;
    for (int rank = 0; rank < size; rank++)
        most = host_of[rank] > most ? host_of[rank] : most;
    return most + 1;
}

static int read_places(const char *text, wl_job_plan_t *plan)
{
    int *host_of = wl_number_list_read(text, &plan->size);
    int hosts = host_of == NULL ? 0 : rank_exec_count_hosts(host_of, plan->size);
    char **names = weft_alloc_array((size_t)hosts, sizeof(*names)), unnamed[] = "";
    for (int i = 0; names != NULL && i < hosts; i++)
        names[i] = unnamed; /* not used here */
    int err =
        host_of != NULL && names != NULL
            ? wl_placement_rebuild(host_of, plan->size, names, hosts, &plan->placement)
            : weft_fail(MPI_ERR_ARG,
                        "\"%.60s\" does not say where ranks are, or there is no memory", text);
    weft_free(host_of);
    weft_free(names);
    return err;
}

static int read_counts(const char *text, wl_job_plan_t *plan)
{
    int count = 0, first_rank = 0;
    int *counts = wl_number_list_read(text, &count);
    int err = counts != NULL && count == plan->app_count
                  ? MPI_SUCCESS
                  : weft_fail(MPI_ERR_ARG, "\"%s\" counts the ranks of %d programs", text,
                              plan->app_count);
    for (int i = 0; i < count && err == MPI_SUCCESS; i++) {
        plan->apps[i].count = counts[i];
        plan->apps[i].first_rank = first_rank;
        first_rank += counts[i];
    }
    weft_free(counts);
    return err;
}

static int rank_exec_read_rank(const wl_job_plan_t *plan, int *out)
{
    const char *text = weft_environment("PMIX_RANK");
    long rank = text == NULL ? -1 : strtol(text, NULL, 10);
    if (rank < 0 || rank >= plan->size)
        return weft_fail(MPI_ERR_ARG,
                         "the launcher gives rank %s of %d ranks; has it a PMIx server?",
                         text == NULL ? "(none)" : text, plan->size);
    *out = (int)rank;
    return MPI_SUCCESS;
}

/* The launcher's own variables are passed on whatever the user's rules say. */
static int make_environment(wl_job_plan_t *plan, int rank, wl_variables_t *out)
{
    wl_variables_t all = {0}, launcher = {0};
    wl_app_t *app = (wl_app_t *)wl_job_plan_app_of(plan, rank);
    int err = wl_variables_copy_own(&all, false);
    if (err == MPI_SUCCESS)
        err = wl_variables_copy_own(&launcher, true);
    if (err == MPI_SUCCESS)
        err = wl_job_plan_apply_rules(plan, &all, app);
    if (err == MPI_SUCCESS)
        err = wl_variables_merge(&app->environment, &launcher);
    if (err == MPI_SUCCESS)
        err = wl_torch_add_variables(plan, &app->environment);
    if (err == MPI_SUCCESS)
        err = wl_job_plan_environment(plan, rank, out);
    wl_variables_release(&all);
    wl_variables_release(&launcher);
    return err;
}

/* Open the rank's own output files, if it has them; the launcher takes care of the input. */
static int redirect(const wl_job_plan_t *plan, int rank)
{
    const wl_rank_files_t *files = &plan->files;
    const char *job = weft_environment("PMIX_NAMESPACE");
    int err = MPI_SUCCESS, fd;
    for (int channel = 0; channel < 2 && err == MPI_SUCCESS; channel++) {
        if (!wl_rank_files_take(files, channel) || (channel == 1 && files->joins_errors))
            continue;
        err = wl_rank_files_open(files, channel, rank, job == NULL ? "job" : job, &fd);
        if (err == MPI_SUCCESS)
            dup2(fd, STDOUT_FILENO + channel);
    }
    if (err == MPI_SUCCESS && files->joins_errors)
        dup2(STDOUT_FILENO, STDERR_FILENO);
    return err;
}

/* Returns only if it fails. */
static int execute(const wl_app_t *app, const wl_variables_t *environment)
{
    if (app->directory != NULL && chdir(app->directory) != 0)
        return weft_fail(MPI_ERR_NO_SUCH_FILE, "the working directory %s cannot be used: %s",
                         app->directory, strerror(errno));
    wl_program_execute(app->path, app->arguments, environment->entries);
    return weft_fail(MPI_ERR_ACCESS, "the program %s cannot be executed: %s", app->path,
                     strerror(errno));
}

/* Returns only if it fails. */
static int become_program(wl_job_plan_t *plan, int rank)
{
    wl_variables_t environment = {0};
    int err = make_environment(plan, rank, &environment);
    if (err == MPI_SUCCESS)
        err = wl_programs_find(plan, plan->placement.host_of[rank]);
    if (err == MPI_SUCCESS)
        err = redirect(plan, rank);
    if (err == MPI_SUCCESS)
        err = execute(wl_job_plan_app_of(plan, rank), &environment);
    wl_variables_release(&environment);
    return err;
}

/* Only the first rank of a host and of a program complains. */
static void complain_once(const wl_job_plan_t *plan, int rank)
{
    char host[256] = "";
    bool is_first = plan->size == 0 || plan->placement.local_rank[rank] == 0 ||
                    wl_job_plan_app_of(plan, rank)->first_rank == rank;
    gethostname(host, sizeof(host) - 1);
    if (is_first)
        fprintf(stderr, "%s: on %s: %s\n", plan->launcher, host, weft_fail_text());
}

int wl_rank_exec(int count, char **words)
{
    enum { WRONG_COMMAND_LINE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
    wl_job_plan_t plan;
    if (count <= COMMAND)
        return WRONG_COMMAND_LINE;
    int rank = 0;
    for (int i = COMMAND + 1; i < count; i++)
        words[i] += words[i][0] == '=';
    int err = wl_options_parse(count - COMMAND, words + COMMAND, &plan);
    if (err == MPI_SUCCESS)
        err = read_places(words[PLACES], &plan);
    if (err == MPI_SUCCESS)
        err = read_counts(words[COUNTS], &plan);
    if (err == MPI_SUCCESS)
        err = rank_exec_read_rank(&plan, &rank);
    if (err == MPI_SUCCESS)
        err = become_program(&plan, rank);
    complain_once(&plan, rank);
    wl_job_plan_release(&plan);
    return err == MPI_ERR_NO_SUCH_FILE
               ? NOT_FOUND
               : (err == MPI_ERR_ACCESS ? NOT_EXECUTABLE : WRONG_COMMAND_LINE);
}
