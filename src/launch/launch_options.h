/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of mpirun and mpiexec: one table of options, from which parser and help are
 * made. */
#ifndef WEFT_LAUNCH_LAUNCH_OPTIONS_H
#define WEFT_LAUNCH_LAUNCH_OPTIONS_H

#include "launch/job_plan.h"

/**
 * Read argv (its ':' are replaced by NULL; the plan points into it). `out` is to be released in any
 * case. With wants_help or wants_version set there may be no application.
 * returns  MPI_SUCCESS; MPI_ERR_ARG with a text that names the option; MPI_ERR_NO_MEM
 */
int weft_options_parse(int argc, char **argv, weft_job_plan_t *out);

/** The help text, on stdout. */
void weft_options_print_help(const char *launcher);

#endif
