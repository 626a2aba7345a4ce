/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to start: a list of applications (the parts of a command line between ':'), each a program
 * with its arguments, number of ranks, directory and environment; and how to run the job.
 */
#ifndef WEFT_LAUNCH_JOB_PLAN_H
#define WEFT_LAUNCH_JOB_PLAN_H

#include "launch/process_environment.h"

#include <stdbool.h>

/** Which of mpirun's own variables an application gets. */
typedef enum weft_inheritance {
    WEFT_INHERIT_UNSET, /* as the job says; of the job: all */
    WEFT_INHERIT_ALL,
    WEFT_INHERIT_NONE,
    WEFT_INHERIT_LISTED,
} weft_inheritance_t;

/** The variables of an application, or of all. */
typedef struct weft_environment_rules {
    weft_inheritance_t inheritance;
    const char *list;     /* "A,B": the names for WEFT_INHERIT_LISTED */
    weft_variables_t set; /* in addition */
} weft_environment_rules_t;

typedef struct weft_app {
    int count;             /* ranks; 0 until weft_job_plan_complete(): not given */
    int first_rank;        /* set by weft_job_plan_complete() */
    const char *directory; /* NULL: mpirun's */
    char **arguments;      /* NULL-terminated, program first; part of argv */
    char *path;            /* what to execute; set by weft_job_plan_complete() */
    weft_environment_rules_t rules;
    weft_variables_t environment; /* of its ranks, without what differs; set by complete */
} weft_app_t;

typedef struct weft_job_plan {
    const char *launcher; /* "mpirun": begins messages */
    weft_app_t *apps;     /* [app_count] */
    int app_count;
    int size;       /* ranks of all applications; set by weft_job_plan_complete() */
    int cores;      /* that this process may use */
    int slots;      /* by --host localhost:4 or -ppn; 0: not given */
    long timeout_s; /* 0: none */
    bool no_oversubscription, tags_lines, is_quiet, is_unbound;
    bool wants_help, wants_version;
    char ignored[256]; /* options without effect that were given, for one note */
    weft_environment_rules_t rules;
} weft_job_plan_t;

/**
 * Find the programs, settle the numbers of ranks and the environments.
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE or MPI_ERR_ACCESS for a program that is not there or
 *          cannot be executed; MPI_ERR_SPAWN when the job is too large; MPI_ERR_NO_MEM
 */
int weft_job_plan_complete(weft_job_plan_t *plan);

/** The application that `rank` runs. */
const weft_app_t *weft_job_plan_app_of(const weft_job_plan_t *plan, int rank);

/** The environment of `rank`, without what PMIx adds; to be released. MPI_ERR_NO_MEM. */
int weft_job_plan_environment(const weft_job_plan_t *plan, int rank, weft_variables_t *out);

void weft_job_plan_release(weft_job_plan_t *plan);

#endif
