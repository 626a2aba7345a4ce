/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the table of options (option_table.c) and the parser (launch_options.c). */
#ifndef WEFT_LAUNCH_PLAN_LAUNCH_OPTIONS_PRIVATE_H
#define WEFT_LAUNCH_PLAN_LAUNCH_OPTIONS_PRIVATE_H

#include "launch/plan/job_plan.h"

#include <stdbool.h>

/** An option in the command line, as the functions of the table see it. */
typedef struct wli_given {
    wl_job_plan_t *plan;
    wl_app_t *app;    /* the program that the parser is at */
    const char *word; /* as written, with dashes */
    const char *values[2];
} wli_given_t;

typedef struct wli_option {
    const char *names;                      /* without dashes; the help shows the first one first */
    const char *arguments;                  /* their names; as many as words */
    int (*apply)(const wli_given_t *given); /* MPI_SUCCESS; MPI_ERR_ARG, MPI_ERR_NO_MEM */
    const char *help;
} wli_option_t;

/* ---- options of torchrun: torch_options.c ---- */

int wli_torch_set_per_node(const wli_given_t *given);
int wli_torch_set_nodes(const wli_given_t *given);
int wli_torch_set_node_rank(const wli_given_t *given);
int wli_torch_set_endpoint(const wli_given_t *given);
int wli_torch_set_address(const wli_given_t *given);
int wli_torch_set_port(const wli_given_t *given);
int wli_torch_set_id(const wli_given_t *given);
int wli_torch_set_role(const wli_given_t *given);
int wli_torch_be_alone(const wli_given_t *given);
int wli_torch_take_module(const wli_given_t *given);
int wli_torch_take_program(const wli_given_t *given);
int wli_torch_take_script(const wli_given_t *given);

/* ---- the table: option_table.c ---- */

/** The option with that name, without dashes; NULL: there is none. */
const wli_option_t *wli_option_find(const char *name);

/** How many values it wants. */
int wli_option_arguments(const wli_option_t *option);

/** Complain of an option that does not exist, with the nearest name. Returns MPI_ERR_ARG. */
int wli_option_refuse(const char *word, const char *name);

#endif
