/* SPDX-License-Identifier: BSD-3-Clause */
/* Another launcher as a process: its command line, its output, its end. */
#ifndef WEFT_LAUNCH_DELEGATE_FOREIGN_LAUNCHER_H
#define WEFT_LAUNCH_DELEGATE_FOREIGN_LAUNCHER_H

#include "launch/plan/job_plan.h"

typedef struct wl_command {
    char **words; /* [count] and a NULL; from the heap */
    int count, capacity;
    bool has_failed; /* no memory */
} wl_command_t;

void wl_command_add_word(wl_command_t *command, const char *word);
/** One word made of two parts. */
void wl_command_add_pair(wl_command_t *command, const char *first, const char *second);
/** One word made of a prefix and a number. */
void wl_command_add_number(wl_command_t *command, const char *prefix, int number);
void wl_command_release(wl_command_t *command);

/** What is known about the end of the job. */
typedef struct wl_foreign_end {
    int exit_code;      /* of the launcher, as a shell gives it */
    int first_failure;  /* exit code of the task whose failure it reported first; 0: none */
    bool launch_failed; /* it reported that the launch failed */
    int due_code; /* it reported a reason to end soon; if it does not, it is ended, with this exit
                   * code; 0: none */
} wl_foreign_end_t;

typedef void (*wl_line_fn_t)(const char *line, wl_foreign_end_t *end);

/**
 * Run the launcher and wait for its end. Signals to mpirun end it, and so does the plan's time
 * limit; when mpirun dies the launcher gets SIGTERM.
 * on_line  gets each line of its stderr, without newline, and writes into the end what it says
 * out      how it ended; after the time limit or a signal, exit_code is 124 or 128 + n
 * returns  MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE or MPI_ERR_SPAWN: it was not started
 */
int wl_foreign_run(const wl_job_plan_t *plan, const wl_command_t *command, wl_line_fn_t on_line,
                   wl_foreign_end_t *out);

#endif
