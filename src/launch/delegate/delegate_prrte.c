/* SPDX-License-Identifier: BSD-3-Clause */
/* Start ranks by PRRTE's prterun, with a host file that has a line per rank. */
#include "launch/delegate/delegate_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <stdlib.h>
#include <string.h>

static void prrte_add_options(const wl_job_plan_t *plan, const char *host_file, wl_command_t *out)
{
    wl_command_add_word(out, "prterun");
    wl_command_add_word(out, "--hostfile");
    wl_command_add_word(out, host_file);
    wl_command_add_word(out, "--map-by");
    wl_command_add_word(out, "seq:OVERSUBSCRIBE");
    wl_command_add_word(out, "-n");
    wl_command_add_number(out, "", plan->size);
    if (plan->is_unbound || plan->size > plan->cores) {
        wl_command_add_word(out, "--bind-to");
        wl_command_add_word(out, "none");
    }
    if (plan->files.input_rank != 0)
        wl_command_add_word(out, "--stdin");
    if (plan->files.input_rank == WL_NO_RANK)
        wl_command_add_word(out, "none");
    else if (plan->files.input_rank != 0)
        wl_command_add_number(out, "", plan->files.input_rank);
    if (plan->tags_lines) {
        wl_command_add_word(out, "--output");
        wl_command_add_word(out, "tag");
    }
    if (plan->route.prefix != NULL) {
        wl_command_add_word(out, "--prefix");
        wl_command_add_word(out, plan->route.prefix);
    }
    if (plan->route.agent != NULL) {
        wl_command_add_word(out, "--prtemca");
        wl_command_add_word(out, "plm_ssh_agent");
        wl_command_add_word(out, plan->route.agent);
    }
}

/* Is it an ordinary name of a variable, not that of an exported function, and not one in which a
 * launcher describes its job? */
static bool is_plain_name(const char *entry)
{
    size_t length =
        strspn(entry, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && entry[length] == '=' && strncmp(entry, "PRTE_", 5) != 0 &&
           strncmp(entry, "PMIX_", 5) != 0;
}

/* prterun passes on those variables only that it is told to. */
static int add_environment(wl_command_t *out)
{
    wl_variables_t own = {0};
    int err = wl_variables_copy_own(&own, false);
    if (err == MPI_SUCCESS)
        wl_variables_forget_host(&own);
    for (int i = 0; i < own.count; i++) {
        if (!is_plain_name(own.entries[i]))
            continue;
        own.entries[i][strcspn(own.entries[i], "=")] = '\0';
        wl_command_add_word(out, "-x");
        wl_command_add_word(out, own.entries[i]);
    }
    wl_variables_release(&own);
    return err;
}

/*
 * The exit code of prterun is that of the rank that failed first. But sometimes it waits for ever
 * when a process ended before the others had started, as one does that finds no program and has
 * said so (rank_exec.c).
 */
static void prrte_take_line(const char *line, wl_foreign_end_t *end)
{
    enum { NO_PROGRAM = 127 };
    if (strstr(line, ": the program ") != NULL && strstr(line, " was not found") != NULL)
        end->due_code = NO_PROGRAM;
}

int wli_prrte_run(const wl_job_plan_t *plan, char *const *words, int *exit_code_out)
{
    char path[64];
    wl_command_t command = {0};
    wl_foreign_end_t end;
    int err = wli_delegate_write_hosts(&plan->placement, path);
    if (err != MPI_SUCCESS)
        return err;
    /* PMIx 5 with its other store crashes when a rank has PMIx 4. */
    setenv("PMIX_MCA_gds", "hash", 0);
    prrte_add_options(plan, path, &command);
    err = add_environment(&command);
    if (err == MPI_SUCCESS)
        err = wli_delegate_add_rank(plan, words, &command);
    if (err == MPI_SUCCESS)
        err = wl_foreign_run(plan, &command, prrte_take_line, &end);
    if (err == MPI_SUCCESS)
        *exit_code_out = end.exit_code;
    wl_command_release(&command);
    return err;
}
