/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manifest of a job: a JSON file that says what was run, on what, and how it has ended
 * (docs/manifest.md has the schema). It is written before the ranks start, and again at the end,
 * each time as a new file that takes the place of the old one.
 */
#ifndef WEFT_LAUNCH_MANIFEST_MANIFEST_H
#define WEFT_LAUNCH_MANIFEST_MANIFEST_H

#include "launch/plan/config_file.h"
#include "launch/plan/job_plan.h"

typedef struct wl_manifest wl_manifest_t;

/** How a rank has ended, for the manifest. */
typedef struct wl_recorded_end {
    bool has_ended, is_lost;
    int exit_code, signal; /* 128 + n and n after signal n */
} wl_recorded_end_t;

/**
 * If the command line has --rerun FILE: put the recorded arguments in its place, with the options
 * given now behind the recorded ones, restore environment and directory, and tell the differences
 * of these on stderr. `command` is released then, and replaced.
 * then_out  what was recorded, for wl_manifest_begin(); NULL: there is no --rerun
 * returns   MPI_SUCCESS; MPI_ERR_NO_SUCH_FILE, MPI_ERR_ARG: FILE cannot be read, or is no manifest;
 *           MPI_ERR_UNSUPPORTED_OPERATION: this build has no JSON library; MPI_ERR_NO_MEM
 */
int wl_rerun_expand(wl_words_t *command, wl_manifest_t **then_out);

/**
 * Describe a completed plan and its surroundings, and write the file that plan->manifest names, if
 * there is one; tell on stderr what differs from `then`, if that is not NULL.
 * words    the command line without the program's own name, as given, NULL at the end
 * returns  MPI_SUCCESS; MPI_ERR_IO: the file cannot be written;
 *          MPI_ERR_UNSUPPORTED_OPERATION: this build has no JSON library; MPI_ERR_NO_MEM
 */
int wl_manifest_begin(const wl_job_plan_t *plan, char *const *words, wl_manifest_t *then,
                      wl_manifest_t **out);

/**
 * Add what the daemons told of their hosts and how the job has ended, and write again.
 * ends     [plan->size]; NULL: not known
 * returns  MPI_SUCCESS; MPI_ERR_IO
 */
int wl_manifest_end(wl_manifest_t *manifest, int exit_code, const wl_recorded_end_t *ends);

/** NULL is allowed. */
void wl_manifest_release(wl_manifest_t *manifest);

#endif
