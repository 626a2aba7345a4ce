/* SPDX-License-Identifier: BSD-3-Clause */
/* A launcher that is not ours as a process: its command line, its end. */
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
/** One word: the prefix and behind it the number. */
void wl_command_add_number(wl_command_t *command, const char *prefix, int number);
void wl_command_release(wl_command_t *command);

/** What a launcher's line on stderr, without newline, says about who failed. */
typedef struct wl_foreign_end {
    int exit_code;      /* of the launcher, as a shell gives it */
    int first_failure;  /* exit code of the task that it told of first; 0: of none */
    bool launch_failed; /* it said so */
    int due_code; /* a reason to end soon was told; if it does not, it is ended, with this exit code
                   */
} wl_foreign_end_t;

typedef void (*wl_line_fn_t)(const char *line, wl_foreign_end_t *end);

/**
 * Run it and wait. Signals to us end it, and so does the plan's time limit; when we die it gets
 * SIGTERM. Its stderr goes through us, line by line, to `on_line`.
 * out           how it ended; with the time limit or a signal, exit_code says 124 or 128 + n
 * returns       MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE or MPI_ERR_SPAWN: it was not started
 */
int wl_foreign_run(const wl_job_plan_t *plan, const wl_command_t *command, wl_line_fn_t on_line,
                   wl_foreign_end_t *out);

#endif
