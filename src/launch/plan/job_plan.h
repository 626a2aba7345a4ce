/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to start: a list of applications (the parts of a command line between ':'), each with
 * program, arguments, number of ranks, directory and environment; on which hosts; and how to run
 * the job.
 */
#ifndef WEFT_LAUNCH_PLAN_JOB_PLAN_H
#define WEFT_LAUNCH_PLAN_JOB_PLAN_H

#include "launch/plan/host_list.h"
#include "launch/plan/placement.h"
#include "launch/plan/process_environment.h"
#include "launch/plan/rank_files.h"

#include <stdbool.h>

enum { WL_TIMEOUT_EXIT_CODE = 124 /* of mpirun after the time limit, as of timeout(1) */ };

/** Which variables of mpirun's own environment an application gets. */
typedef enum wl_inheritance {
    WL_INHERIT_UNSET, /* for an application: as the job says; for the job: all */
    WL_INHERIT_ALL,
    WL_INHERIT_NONE,
    WL_INHERIT_LISTED,
} wl_inheritance_t;

/** The variables of one application, or of all. */
typedef struct wl_environment_rules {
    wl_inheritance_t inheritance;
    const char *list;   /* "A,B": the names for WL_INHERIT_LISTED */
    wl_variables_t set; /* set in addition */
} wl_environment_rules_t;

typedef struct wl_app {
    int count;             /* ranks; 0 until wl_job_plan_complete(): not given */
    int first_rank;        /* set by wl_job_plan_complete() */
    const char *directory; /* NULL: mpirun's */
    const char *search;    /* folders to look for the program in, as PATH has them; NULL: PATH */
    char **arguments;      /* NULL-terminated, program first; part of argv, or own_words */
    char **own_words;      /* where Python starts the program; NULL: not so */
    bool is_module;        /* the program is a module of Python */
    bool has_chosen_port;  /* MASTER_PORT is mpirun's choice */
    bool is_script;        /* it is a script of Python whatever its name is */
    bool is_no_script;     /* it is executed whatever its name is */
    char *path;            /* what to execute; set by wl_programs_find() */
    const char *host_file; /* NULL: none */
    wl_host_list_t hosts, file_hosts; /* by -host and from the file; after complete in hosts */
    wl_environment_rules_t rules;
    wl_variables_t environment; /* of its ranks, without what differs; set by complete */
    bool inherits_all; /* ranks on another host get that host's own HOSTNAME and the like; set by
                        * complete */
} wl_app_t;

/** How ranks are started on other hosts. */
typedef struct wl_route {
    const char *launcher;  /* "ssh", "prrte", "slurm", ...; NULL: find out */
    const char *agent;     /* words of a program like ssh; NULL: ssh */
    const char *prefix;    /* where Weft is installed on other hosts; NULL: as here */
    const char *interface; /* the network to be used between mpirun and daemons; NULL: all */
    int radix;             /* daemons that each daemon starts, at most */
    int lost_after_s;      /* after so much silence a host is given up */
} wl_route_t;

/** What options of torchrun say (torch_options.h). */
typedef struct wl_torch {
    bool is_given;        /* there are some, so that its defaults hold */
    int nodes;            /* 0: not given */
    int node_rank;        /* of this mpirun, */
    bool has_node_rank;   /* if given */
    const char *endpoint; /* "host:port"; NULL: not given, as those below */
    const char *address;  /* instead of it, with */
    long port;            /* 0: not given */
    const char *id, *role;
    int max_restarts; /* how often the job is started again after a failure, at most */
    int restarts;     /* how often it was */
} wl_torch_t;

typedef struct wl_job_plan {
    const char *launcher; /* "mpirun": begins messages */
    char id[32];          /* names the job on all hosts; set by wl_job_plan_complete() */
    wl_app_t *apps;       /* [app_count] */
    int app_count;
    int size;  /* ranks of all applications; set by wl_job_plan_complete() */
    int cores; /* that this process may use */
    wl_placement_rules_t placement_rules;
    wl_placement_t placement; /* set by wl_job_plan_complete() */
    wl_route_t route;
    const char *directory; /* start directory of ranks without one of their own; NULL: the current
                            * one */
    long timeout_s;        /* 0: none */
    wl_rank_files_t files;
    wl_torch_t torch;
    bool tags_lines, is_quiet, is_unbound, wants_report;
    bool wants_mps;       /* of the job's own, on each host with several ranks */
    bool survives_losses; /* a rank that dies does not end the job */
    bool replaces_lost;   /* but is started again; set by complete */
    bool wants_help, wants_version;
    const char *manifest;        /* file that says what was run (--manifest); NULL: none */
    bool wants_host_facts;       /* daemons tell what their hosts are made of */
    wl_variables_t *host_facts;  /* [host_count] what they have told; NULL: not wanted */
    const char *simulated_hosts; /* of --simulate-hosts; NULL: not given */
    char ignored[256];           /* given options that have no effect, for one note to the user */
    wl_environment_rules_t rules;
} wl_job_plan_t;

/** Read the host files that the command line names. Errors of wl_host_list_add_file(). */
int wl_job_plan_read_hosts(wl_job_plan_t *plan);

/**
 * Decide the numbers of ranks, their places and environments.
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN when the job is too large; MPI_ERR_NO_MEM
 */
int wl_job_plan_complete(wl_job_plan_t *plan);

/** Change what is to differ when a job that has failed is started again: its name, the port at
 *  which its ranks meet, the number of restarts. Errors of wl_job_plan_complete(). */
int wl_job_plan_renew(wl_job_plan_t *plan);

/** Make room for what is told of the hosts of a completed plan. MPI_ERR_NO_MEM. */
int wl_job_plan_want_host_facts(wl_job_plan_t *plan);

/** Make an application's environment from the inherited variables and the rules. MPI_ERR_NO_MEM. */
int wl_job_plan_apply_rules(const wl_job_plan_t *plan, const wl_variables_t *inherited,
                            wl_app_t *app);

/** Are all ranks on the host that mpirun runs on? */
bool wl_job_plan_is_local(const wl_job_plan_t *plan);

/** The application that `rank` runs. */
const wl_app_t *wl_job_plan_app_of(const wl_job_plan_t *plan, int rank);

/** The environment of `rank`, without what PMIx adds; to be released. MPI_ERR_NO_MEM. */
int wl_job_plan_environment(const wl_job_plan_t *plan, int rank, wl_variables_t *out);

/** How many processors this process may use. */
int wl_cores_available(void);

void wl_job_plan_release(wl_job_plan_t *plan);

#endif
