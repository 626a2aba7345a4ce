/* SPDX-License-Identifier: BSD-3-Clause */
/* mpirun and mpiexec: start the ranks of a job on this host. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

#include "base/fail.h"
#include "launch/job_plan.h"
#include "launch/job_run.h"
#include "launch/launch_options.h"
#include "launch/program_search.h"
#include "mpi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { WRONG_COMMAND_LINE = 2, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Started with a closed standard file, the next one to be opened would take its place. */
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

static int report(const weft_job_plan_t *plan, int err)
{
    fprintf(stderr, "%s: %s\n", plan->launcher, weft_fail_text());
    if (err == MPI_ERR_NO_SUCH_FILE)
        return NOT_FOUND;
    return err == MPI_ERR_ACCESS ? NOT_EXECUTABLE : 1;
}

static void print_note(const weft_job_plan_t *plan)
{
    if (plan->ignored[0] != '\0' && !plan->is_quiet)
        fprintf(stderr, "%s: note: %s: no effect in this version\n", plan->launcher, plan->ignored);
}

static int run(weft_job_plan_t *plan)
{
    int exit_code = 0;
    int err = weft_job_plan_complete(plan);
    if (err == MPI_SUCCESS && weft_job_plan_is_local(plan))
        err = weft_programs_find(plan, 0);
    if (err == MPI_SUCCESS) {
        print_note(plan);
        err = weft_job_run(plan, &exit_code);
    }
    return err == MPI_SUCCESS ? exit_code : report(plan, err);
}

int main(int argc, char **argv)
{
    weft_job_plan_t plan;
    if (!open_standard_files())
        return 1;
    int exit_code = 0;
    if (weft_options_parse(argc, argv, &plan) != MPI_SUCCESS) {
        fprintf(stderr, "%s: %s\n", plan.launcher, weft_fail_text());
        exit_code = WRONG_COMMAND_LINE;
    } else if (plan.wants_help) {
        weft_options_print_help(plan.launcher);
    } else if (plan.wants_version) {
        printf("%s (Weft) %s\n", plan.launcher, PACKAGE_VERSION);
    } else {
        exit_code = run(&plan);
    }
    weft_job_plan_release(&plan);
    fflush(stdout);
    _exit(exit_code); /* PMIx's exit handlers may hang after a client has died */
}
