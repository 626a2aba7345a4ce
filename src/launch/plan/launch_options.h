/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of mpirun and mpiexec: one table of options, from which parser and help are
 * made. */
#ifndef WEFT_LAUNCH_PLAN_LAUNCH_OPTIONS_H
#define WEFT_LAUNCH_PLAN_LAUNCH_OPTIONS_H

#include "launch/plan/config_file.h"
#include "launch/plan/job_plan.h"

/**
 * The words of the command line, with the words of a --configfile in its place; to be released when
 * the plan is.
 * returns  MPI_SUCCESS; errors of wl_config_file_read()
 */
int wl_options_expand(int argc, char **argv, wl_words_t *out);

/** The index of an option with one value in front of the first program, with its value and the
 *  index behind it; -1: it is not there. */
int wl_options_find(const wl_words_t *line, const char *name, const char **value_out, int *end_out);

/** The index of the first program; line->count: there is none, or the options are wrong. */
int wl_options_program_at(const wl_words_t *line);

/**
 * Read argv (its ':' are replaced by NULL; the plan points into it). `out` is to be released in any
 * case. With wants_help or wants_version set there may be no application.
 * returns  MPI_SUCCESS; MPI_ERR_ARG with a text that names the option; MPI_ERR_NO_MEM
 */
int wl_options_parse(int argc, char **argv, wl_job_plan_t *out);

/** Second part of wl_options_parse(): what the options leave open is taken from the environment.
 *  MPI_ERR_ARG. */
int wl_options_read_variables(wl_job_plan_t *plan);

/** A number from 1 to `most`; MPI_ERR_ARG with a text that begins with `word`. */
int wl_options_number(const char *word, const char *text, long most, long *out);

/** The name under which the program was started, without its folder; mpirun's messages begin with
 *  it. */
const char *wl_options_launcher(char **argv);

/** The help text, on stdout. */
void wl_options_print_help(const char *launcher);

#endif
