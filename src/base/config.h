/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: one list of variables (config_vars.def), read once from the environment.
 * getenv is called nowhere else.
 */
#ifndef WEFT_BASE_CONFIG_H
#define WEFT_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool weft_config_BOOL_t;
typedef int weft_config_INT_t;
typedef int weft_config_COUNT_t;   /* at least 1, at most INT_MAX / 1000 */
typedef int weft_config_SECONDS_t; /* at least 1; in ms it fits an int */
typedef size_t weft_config_SIZE_t;
typedef const char *weft_config_TEXT_t;
typedef unsigned weft_config_CHECKS_t; /* weft_check_t, or-ed; a list of their names, or "all" */

/** What WEFT_CHECK can ask for. */
typedef enum weft_check {
    WEFT_CHECK_COLLECTIVES = 1, /* coll/call_check.h */
    WEFT_CHECK_LEAKS = 2,       /* mpi/leaks.h */
} weft_check_t;

typedef enum weft_config_kind {
    WEFT_CONFIG_BOOL,
    WEFT_CONFIG_INT,
    WEFT_CONFIG_COUNT,
    WEFT_CONFIG_SECONDS,
    WEFT_CONFIG_SIZE,
    WEFT_CONFIG_TEXT,
    WEFT_CONFIG_CHECKS = WEFT_CONFIG_TEXT, /* for tools it is its text */
} weft_config_kind_t;

/** When a tool may change a variable (config_vars.def). */
typedef enum weft_config_change {
    WEFT_CHANGE_NEVER,
    WEFT_CHANGE_BEFORE,
    WEFT_CHANGE_BEFORE_ALIKE,
    WEFT_CHANGE_ANYTIME,
} weft_config_change_t;

typedef struct weft_config {
#define VAR(name, kind, fallback, unit, area, change, help) weft_config_##kind##_t name;
#include "base/config_vars.def"
#undef VAR
} weft_config_t;

/** The values in force; fixed after weft_config_read(). */
extern weft_config_t weft_config;

/** Read WEFT_* from the environment, once; later calls do nothing. Bad values and unknown names
 *  are warned of on stderr (with the nearest name) and the default stays. */
void weft_config_read(void);

/** Tell the processes that this one starts, by WEFT_WARNED in their environment, of which variables
 *  weft_config_read() has warned, so that they do not warn again. Before there are threads. */
void weft_config_export_warnings(void);

/** One row for weft_info and for tools: name without WEFT_, value and default as text, unit, help,
 *  and whether the value came from the environment. The texts live as long as the program, but for
 *  the value, which lives until the next weft_config_set(). */
typedef struct weft_config_row {
    const char *name, *value, *fallback, *unit, *help;
    const char *area; /* "PT2PT", ...: a category of tool/category.h */
    weft_config_kind_t kind;
    weft_config_change_t change;
    const void *field; /* of weft_config */
    bool is_set;
} weft_config_row_t;

int weft_config_rows(void);
weft_config_row_t weft_config_row(int index);

/** Give a variable the value that WEFT_<name>=text would have given it. Whether it may be changed
 *  at this time is the caller's to know. MPI_ERR_ARG: it cannot take this value; MPI_ERR_NO_MEM.
 *  Without a text of weft_fail. */
int weft_config_set(int index, const char *text);

/** A variable that is not Weft's (PMIX_RANK, SLURM_PROCID, ...); NULL when it is not set. */
const char *weft_environment(const char *name);

/** Set a variable for the processes that this one starts; NULL: remove it. */
void weft_environment_set(const char *name, const char *value);

#endif
