/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard files of ranks that do not go through mpirun: output into a file per rank, on the rank's
 * own host; and which rank gets mpirun's input. */
#ifndef WEFT_LAUNCH_PLAN_RANK_FILES_H
#define WEFT_LAUNCH_PLAN_RANK_FILES_H

#include <stdbool.h>

enum { WL_NO_RANK = -1 };

typedef struct wl_rank_files {
    /* [stdout, stderr] names of files, with %r for the rank, %h for its host, %j for the job and %%
     * for '%'; NULL: through mpirun */
    const char *patterns[2];
    const char *folder; /* all output goes to FOLDER/rank.R/stdout and stderr; NULL: it does not */
    bool joins_errors;  /* stderr goes where stdout goes */
    int input_rank;     /* the rank that gets mpirun's stdin; WL_NO_RANK: none */
} wl_rank_files_t;

/** Check a pattern. MPI_ERR_ARG, with a text that begins with `word`. */
int wl_rank_files_check(const char *word, const char *pattern);

/** Check that `size` ranks would not write over each other's files. MPI_ERR_ARG. */
int wl_rank_files_check_size(const wl_rank_files_t *files, int size);

/** Does output of this channel (0: stdout, 1: stderr) go to a file? */
bool wl_rank_files_take(const wl_rank_files_t *files, int channel);

/**
 * Open the file of a rank for a channel that goes to a file; its old contents are lost. Missing
 * folders are made for wl_rank_files_t.folder only.
 * returns  MPI_SUCCESS, and fd_out belongs to the caller and is closed on exec; MPI_ERR_IO
 */
int wl_rank_files_open(const wl_rank_files_t *files, int channel, int rank, const char *job,
                       int *fd_out);

/** The same for a rank that is started again, whose file goes on. */
int wl_rank_files_reopen(const wl_rank_files_t *files, int channel, int rank, const char *job,
                         int *fd_out);

#endif
