/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create */
#include "launch/delegate/delegate_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/loop/byte_queue.h"
#include "launch/plan/daemon_path.h"
#include "launch/plan/number_list.h"
#include "launch/plan/program_search.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_on_path(const char *name)
{
    char path[PATH_MAX];
    const char *search = weft_environment("PATH");
    return search != NULL && wl_program_path(search, name, path) == 0;
}

static bool names_others(const wl_host_list_t *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        if (!wl_is_this_host(hosts->hosts[i].name))
            return true;
    }
    return false;
}

/* Does the command line name hosts? Does it name other hosts than this one? */
static void look_for_hosts(const wl_job_plan_t *plan, bool *any_out, bool *others_out)
{
    *any_out = *others_out = false;
    for (int i = 0; i < plan->app_count; i++) {
        const wl_app_t *app = &plan->apps[i];
        /* If both are given, hosts of the file that are not in the list are not used. */
        const wl_host_list_t *hosts = app->hosts.count > 0 ? &app->hosts : &app->file_hosts;
        *any_out = *any_out || hosts->count > 0;
        *others_out = *others_out || names_others(hosts);
    }
}

static const struct {
    const char *name;
    wl_launch_method_t method;
} launchers[] = {
    {"ssh", WL_METHOD_OWN},     {"rsh", WL_METHOD_OWN},       {"fork", WL_METHOD_OWN},
    {"slurm", WL_METHOD_SLURM}, {"srun", WL_METHOD_SLURM},    {"prrte", WL_METHOD_PRRTE},
    {"prte", WL_METHOD_PRRTE},  {"prterun", WL_METHOD_PRRTE},
};
enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]) };

static int choose_named(const wl_job_plan_t *plan, wl_launch_method_t *out)
{
    const char *name = plan->route.launcher;
    int known = 0;
    while (known < LAUNCHERS && strcmp(launchers[known].name, name) != 0)
        known++;
    if (known == LAUNCHERS)
        return weft_fail(MPI_ERR_ARG, "--launcher wants ssh, rsh, fork, slurm or prrte, not \"%s\"",
                         name);
    if (plan->survives_losses && launchers[known].method == WL_METHOD_PRRTE)
        return weft_fail(MPI_ERR_ARG,
                         "--enable-recovery is not for prterun, which ends the job when "
                         "a rank dies; use --launcher ssh or slurm");
    *out = launchers[known].method;
    return MPI_SUCCESS;
}

int wl_delegate_choose(const wl_job_plan_t *plan, wl_launch_method_t *out)
{
    bool names_any, has_others;
    if (wl_torch_is_one_of_nodes(plan)) {
        *out = WL_METHOD_OWN;
        return MPI_SUCCESS;
    }
    if (plan->route.launcher != NULL)
        return choose_named(plan, out);
    look_for_hosts(plan, &names_any, &has_others);
    *out = WL_METHOD_OWN;
    if (plan->route.agent != NULL || (names_any && !has_others))
        return MPI_SUCCESS;
    if (wli_slurm_is_here() && is_on_path("srun"))
        *out = WL_METHOD_SLURM;
    else if (has_others && !plan->survives_losses && is_on_path("prterun"))
        *out = WL_METHOD_PRRTE;
    return MPI_SUCCESS;
}

int wli_delegate_write_hosts(const wl_placement_t *placement, char path_out[64])
{
    int fd = memfd_create("weft-hosts", 0); /* a file that disappears by itself */
    int copy = fd < 0 ? -1 : dup(fd);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    if (file == NULL)
        return weft_fail(MPI_ERR_IO, "a host file cannot be written: %s", strerror(errno));
    for (int rank = 0; rank < placement->size; rank++)
        fprintf(file, "%s\n", placement->hosts[placement->host_of[rank]].name);
    if (fclose(file) != 0)
        return weft_fail(MPI_ERR_IO, "a host file cannot be written: %s", strerror(errno));
    snprintf(path_out, 64, "/proc/self/fd/%d", fd);
    return MPI_SUCCESS;
}

static bool append_counts(wl_byte_queue_t *text, const wl_job_plan_t *plan)
{
    int *counts = weft_alloc_array((size_t)plan->app_count, sizeof(*counts));
    for (int i = 0; i < plan->app_count && counts != NULL; i++)
        counts[i] = plan->apps[i].count;
    bool is_complete = counts != NULL && wl_number_list_write(counts, plan->app_count, text);
    weft_free(counts);
    return is_complete;
}

int wli_delegate_add_rank(const wl_job_plan_t *plan, char *const *words, wl_command_t *out)
{
    char daemon[PATH_MAX];
    wl_byte_queue_t places = {0}, counts = {0};
    int err = wl_daemon_path(plan->route.prefix, daemon);
    if (err != MPI_SUCCESS)
        return err;
    wl_command_add_word(out, daemon);
    wl_command_add_word(out, "as-rank");
    if (wl_number_list_write(plan->placement.host_of, plan->size, &places) &&
        append_counts(&counts, plan)) {
        wl_command_add_word(out, wl_queue_front(&places));
        wl_command_add_word(out, wl_queue_front(&counts));
    } else {
        out->has_failed = true;
    }
    wl_queue_release(&places);
    wl_queue_release(&counts);
    wl_command_add_word(out, plan->launcher);
    for (int i = 0; words[i] != NULL; i++)
        wl_command_add_pair(out, "=", words[i]);
    return MPI_SUCCESS;
}

/* Pass on what all ranks have to agree on, and only mpirun knows. */
static void export_meeting_point(const wl_job_plan_t *plan)
{
    static const char *const names[] = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"};
    for (int i = 0; i < 3; i++) {
        const char *value = wl_variables_get(&plan->apps[0].environment, names[i]);
        if (value != NULL)
            setenv(names[i], value, 1);
    }
}

int wl_delegate_run(wl_launch_method_t method, const wl_job_plan_t *plan, char *const *words,
                    int *exit_code_out)
{
    export_meeting_point(plan);
    return method == WL_METHOD_SLURM ? wli_slurm_run(plan, words, exit_code_out)
                                     : wli_prrte_run(plan, words, exit_code_out);
}
