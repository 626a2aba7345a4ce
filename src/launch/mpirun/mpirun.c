/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun and mpiexec: from the command line to the exit code. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "launch/delegate/delegate.h"
#include "launch/manifest/manifest.h"
#include "launch/mpirun/job_run.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/launch_options.h"
#include "launch/plan/program_search.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WRONG_COMMAND_LINE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* If a standard file is closed when mpirun starts, the next file that is opened would take its
 * place. */
static bool open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* What mpirun returns when a job could not be started. */
static int exit_code_after(int err)
{
    if (err == MPI_ERR_NO_SUCH_FILE)
        return NOT_FOUND;
    return err == MPI_ERR_ACCESS ? NOT_EXECUTABLE : 1;
}

static int report_error(const wl_job_plan_t *plan, int err)
{
    fprintf(stderr, "%s: %s\n", plan->launcher, weft_fail_text());
    return exit_code_after(err);
}

static void print_note(const wl_job_plan_t *plan)
{
    if (plan->ignored[0] != '\0' && !plan->is_quiet)
        fprintf(stderr, "%s: note: %s: no effect in this version\n", plan->launcher, plan->ignored);
}

static wl_manifest_t *then; /* of the job that is run again (--rerun); NULL: none */

/* The manifest of a completed plan. */
static int open_record(wl_job_plan_t *plan, char *const *words, wl_manifest_t **out)
{
    *out = NULL;
    if (plan->manifest == NULL && then == NULL)
        return MPI_SUCCESS;
    int err = wl_job_plan_want_host_facts(plan);
    return err == MPI_SUCCESS ? wl_manifest_begin(plan, words, then, out) : err;
}

static wl_recorded_end_t *list_ends(const wl_rank_ends_t *ends, int size)
{
    wl_recorded_end_t *list = weft_alloc_zeroed((size_t)size, sizeof(*list));
    for (int rank = 0; rank < size && list != NULL && ends->ends != NULL; rank++) {
        const wl_rank_end_t *end = &ends->ends[rank];
        list[rank] =
            (wl_recorded_end_t){.has_ended = end->fate != WL_RUNS,
                                .is_lost = end->fate == WL_LOST && ends->plan->survives_losses,
                                .exit_code = end->code,
                                .signal = end->signal};
    }
    return list;
}

/* `ends` NULL: not known. A manifest that cannot be written fails a job that was good. */
static void close_record(wl_manifest_t *record, const wl_job_plan_t *plan,
                         const wl_rank_ends_t *ends, int *exit_code)
{
    wl_recorded_end_t *list = ends == NULL ? NULL : list_ends(ends, plan->size);
    if (wl_manifest_end(record, *exit_code, list) != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", plan->launcher, weft_fail_text());
        *exit_code = *exit_code == 0 ? 1 : *exit_code;
    }
    weft_free(list);
    wl_manifest_release(record);
}

/* Run the job, and again after the failure of a rank, as often as the plan allows. */
static int run_until_good(wl_job_plan_t *plan, wl_job_outcome_t *out)
{
    for (;;) {
        int err = wl_job_run(plan, out);
        plan->torch.restarts += out->restarts;
        if (err != MPI_SUCCESS || !out->has_rank_failed || plan->survives_losses ||
            plan->torch.restarts >= plan->torch.max_restarts)
            return err;
        wl_rank_ends_release(&out->ends);
        err = wl_job_plan_renew(plan);
        if (err != MPI_SUCCESS)
            return err;
        fprintf(stderr, "%s: the job is started again (%d of at most %d times)\n", plan->launcher,
                plan->torch.restarts, plan->torch.max_restarts);
    }
}

/* There are ways to start a job in which it cannot be started again. */
static void forgo_restarts(wl_job_plan_t *plan, const char *why)
{
    if (plan->torch.max_restarts > 0 && !plan->is_quiet)
        fprintf(stderr, "%s: note: --max-restarts has no effect %s\n", plan->launcher, why);
    plan->torch.max_restarts = 0;
}

/* Start the ranks on this host, or by daemons of Weft. */
static int run_ourselves(wl_job_plan_t *plan, char *const *words, int *exit_code_out)
{
    wl_manifest_t *record;
    wl_job_outcome_t outcome = {0};
    if (wl_torch_is_one_of_nodes(plan))
        forgo_restarts(plan, "with --node-rank");
    int err = wl_job_plan_complete(plan);
    if (err == MPI_SUCCESS && wl_job_plan_is_local(plan))
        err = wl_programs_find(plan, 0);
    if (err != MPI_SUCCESS)
        return err;
    print_note(plan);
    err = open_record(plan, words, &record);
    if (err != MPI_SUCCESS)
        return err;
    err = run_until_good(plan, &outcome);
    *exit_code_out = err == MPI_SUCCESS ? outcome.exit_code : exit_code_after(err);
    close_record(record, plan, &outcome.ends, exit_code_out);
    wl_rank_ends_release(&outcome.ends);
    return err;
}

static int delegate_job(wl_launch_method_t method, wl_job_plan_t *plan, char **words,
                        int *exit_code_out)
{
    forgo_restarts(plan, "where another launcher starts the ranks");
    if (plan->wants_mps && !plan->is_quiet)
        fprintf(stderr, "%s: note: --mps has no effect where another launcher starts the ranks\n",
                plan->launcher);
    int err = method == WL_METHOD_SLURM ? wl_delegate_take_allocation(plan) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = wl_job_plan_complete(plan);
    if (err != MPI_SUCCESS)
        return err;
    print_note(plan);
    wl_manifest_t *record;
    err = open_record(plan, words, &record);
    if (err == MPI_SUCCESS)
        err = wl_delegate_run(method, plan, words, exit_code_out);
    if (record != NULL)
        close_record(record, plan, NULL, exit_code_out);
    return err;
}

static int run_plan(wl_job_plan_t *plan, char **words)
{
    wl_launch_method_t method;
    int exit_code = 0;
    if (wl_job_plan_read_hosts(plan) != MPI_SUCCESS ||
        wl_delegate_choose(plan, &method) != MPI_SUCCESS) {
        report_error(plan, MPI_SUCCESS);
        return WRONG_COMMAND_LINE;
    }
    int err = method == WL_METHOD_OWN ? run_ourselves(plan, words, &exit_code)
                                      : delegate_job(method, plan, words, &exit_code);
    return err == MPI_SUCCESS ? exit_code : report_error(plan, err);
}

/* Parsing cuts the words into pieces; another launcher has to get them whole. */
static char **copy_words(const wl_words_t *from)
{
    char **words = weft_alloc_array((size_t)from->count, sizeof(*words));
    for (int i = 0; words != NULL && i < from->count; i++)
        words[i] = from->words[i + 1];
    return words;
}

static int obey(const wl_words_t *command, char **words)
{
    wl_job_plan_t plan;
    int exit_code = 0;
    weft_config_read();
    weft_config_export_warnings();
    if (wl_options_parse(command->count, command->words, &plan) != MPI_SUCCESS) {
        report_error(&plan, MPI_SUCCESS);
        exit_code = WRONG_COMMAND_LINE;
    } else if (plan.wants_help) {
        wl_options_print_help(plan.launcher);
    } else if (plan.wants_version) {
        printf("%s (Weft) %s\n", plan.launcher, PACKAGE_VERSION);
    } else {
        exit_code = run_plan(&plan, words);
    }
    wl_job_plan_release(&plan);
    return exit_code;
}

int main(int argc, char **argv)
{
    wl_words_t command;
    if (!open_standard_files())
        return 1;
    if (wl_options_expand(argc, argv, &command) != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wl_options_launcher(argv), weft_fail_text());
        return WRONG_COMMAND_LINE;
    }
    if (wl_rerun_expand(&command, &then) != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wl_options_launcher(argv), weft_fail_text());
        wl_words_release(&command);
        wl_manifest_release(then);
        return WRONG_COMMAND_LINE;
    }
    char **words = copy_words(&command);
    int exit_code = words == NULL ? 1 : obey(&command, words);
    if (fflush(stdout) != 0 && exit_code == 0) {
        fprintf(stderr, "%s: cannot write standard output: %s\n", wl_options_launcher(argv),
                strerror(errno));
        exit_code = 1;
    }
    weft_free(words);
    wl_words_release(&command);
    fflush(stderr);
    _exit(exit_code); /* what a job that was cut short still holds is the kernel's to free */
}
