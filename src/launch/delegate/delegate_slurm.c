/* SPDX-License-Identifier: BSD-3-Clause */
/* Start ranks by `srun --mpi=pmix`. mpirun decides where ranks go, as without Slurm: srun gets a
 * host file with a line per rank. */
#include "launch/delegate/delegate_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The steps of shells that salloc starts, and the like, have numbers near the end of 32 bits. */
static bool is_inside_step(void)
{
    const char *step = weft_environment("SLURM_STEP_ID");
    return step != NULL && strtoul(step, NULL, 10) < 0xfffffff0UL;
}

bool wli_slurm_is_here(void)
{
    return weft_environment("SLURM_JOB_ID") != NULL &&
           weft_environment("SLURM_JOB_NODELIST") != NULL &&
           weft_environment("PMIX_RANK") == NULL && !is_inside_step();
}

/* The `index`th number of "4(x2),1"; 0: there is none, or one that makes no sense is before it. */
static int number_at(const char *text, int index)
{
    while (text != NULL && *text != '\0') {
        char *end;
        long number = strtol(text, &end, 10), times = 1;
        if (end == text)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            times = strtol(end + 2, &end, 10);
        if (number < 0 || number > INT_MAX || times < 1)
            return 0;
        if (index < times)
            return (int)number;
        index -= (int)times;
        text = end + strspn(end, "),");
    }
    return 0;
}

int wl_delegate_take_allocation(wl_job_plan_t *plan)
{
    const char *names = weft_environment("SLURM_JOB_NODELIST");
    const char *tasks = weft_environment("SLURM_TASKS_PER_NODE");
    const char *cores = weft_environment("SLURM_JOB_CPUS_PER_NODE");
    wl_host_list_t hosts = {0};
    if (names == NULL)
        return weft_fail(MPI_ERR_ARG, "--launcher slurm: this is no Slurm allocation "
                                      "(SLURM_JOB_NODELIST is not set)");
    int err = wl_host_list_add(&hosts, names);
    for (int i = 0; i < hosts.count && err == MPI_SUCCESS; i++)
        hosts.hosts[i].slots = number_at(tasks != NULL ? tasks : cores, i);
    for (int i = 0; i < plan->app_count && err == MPI_SUCCESS; i++) {
        wl_app_t *app = &plan->apps[i];
        if (app->hosts.count > 0 || app->file_hosts.count > 0)
            wl_host_list_take_slots(&app->hosts, &hosts);
        else if (i == 0)
            err = wl_host_list_copy(&hosts, &app->hosts);
    }
    wl_host_list_release(&hosts);
    return err;
}

/* srun gives a core to one task only, unless it is told to overcommit. */
static bool needs_overcommit(const wl_placement_t *placement)
{
    wl_host_list_t hosts = {0};
    const char *cores = weft_environment("SLURM_JOB_CPUS_PER_NODE");
    bool needs = wl_host_list_add(&hosts, weft_environment("SLURM_JOB_NODELIST")) != MPI_SUCCESS;
    for (int i = 0; i < placement->host_count; i++) {
        for (int k = 0; k < hosts.count; k++)
            needs = needs || (strcmp(placement->hosts[i].name, hosts.hosts[k].name) == 0 &&
                              placement->hosts[i].count > number_at(cores, k));
    }
    wl_host_list_release(&hosts);
    return needs;
}

static void slurm_add_options(const wl_job_plan_t *plan, wl_command_t *out)
{
    wl_command_add_word(out, "srun");
    wl_command_add_word(out, "--mpi=pmix");
    wl_command_add_word(out, "--distribution=arbitrary");
    wl_command_add_number(out, "--ntasks=", plan->size);
    wl_command_add_number(out, "--nodes=", plan->placement.host_count);
    if (plan->survives_losses)
        wl_command_add_word(out, "--no-kill");
    wl_command_add_word(out,
                        plan->survives_losses ? "--kill-on-bad-exit=0" : "--kill-on-bad-exit=1");
    wl_command_add_word(out, "--quit-on-interrupt");
    if (needs_overcommit(&plan->placement))
        wl_command_add_word(out, "--overcommit");
    if (plan->files.input_rank == WL_NO_RANK)
        wl_command_add_word(out, "--input=none");
    else
        wl_command_add_number(out, "--input=", plan->files.input_rank);
    if (plan->tags_lines)
        wl_command_add_word(out, "--label");
    if (plan->is_unbound)
        wl_command_add_word(out, "--cpu-bind=none");
    if (plan->is_quiet)
        wl_command_add_word(out, "--quiet");
}

/* The signal of "Killed" or "Segmentation fault", as strsignal() writes it, perhaps with " (core
 * dumped)" behind it. */
static int signal_called(const char *name)
{
    for (int number = 1; number < NSIG; number++) {
        const char *known = strsignal(number);
        if (known != NULL && strncmp(name, known, strlen(known)) == 0)
            return number;
    }
    return 0;
}

/* The code in "srun: error: h2: task 4: Killed" or "...: tasks 0-3: Exited with exit code 2". */
static int code_told(const char *line)
{
    static const char exit_words[] = "Exited with exit code ";
    const char *task = strstr(line, ": task");
    const char *what = task == NULL ? NULL : strstr(task + 2, ": ");
    if (strncmp(line, "srun: error: ", 13) != 0 || what == NULL)
        return 0;
    what += 2;
    if (strncmp(what, exit_words, strlen(exit_words)) == 0)
        return (int)strtol(what + strlen(exit_words), NULL, 10);
    int number = signal_called(what);
    return number == 0 ? 0 : 128 + number;
}

static void slurm_take_line(const char *line, wl_foreign_end_t *end)
{
    if (end->first_failure == 0)
        end->first_failure = code_told(line);
    if (strncmp(line, "srun: error: ", 13) == 0 && strstr(line, "launch failed") != NULL)
        end->launch_failed = true;
}

/* srun 22.05 returns the highest exit code, which may be that of tasks that it has killed itself;
 * and 0 for some launches that have failed. */
static int exit_code_of(const wl_foreign_end_t *end)
{
    bool is_consequence = end->exit_code == 128 + SIGTERM || end->exit_code == 128 + SIGKILL;
    if (is_consequence && end->first_failure != 0)
        return end->first_failure;
    return end->exit_code == 0 && end->launch_failed ? 1 : end->exit_code;
}

int wli_slurm_run(const wl_job_plan_t *plan, char *const *words, int *exit_code_out)
{
    char path[64];
    wl_command_t command = {0};
    wl_foreign_end_t end;
    int err = wli_delegate_write_hosts(&plan->placement, path);
    if (err != MPI_SUCCESS)
        return err;
    setenv("SLURM_HOSTFILE", path, 1);
    slurm_add_options(plan, &command);
    err = wli_delegate_add_rank(plan, words, &command);
    if (err == MPI_SUCCESS)
        err = wl_foreign_run(plan, &command, slurm_take_line, &end);
    if (err == MPI_SUCCESS)
        *exit_code_out = exit_code_of(&end);
    wl_command_release(&command);
    return err;
}
