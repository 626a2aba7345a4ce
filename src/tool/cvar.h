/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control variables (MPI 5.0 section 15.3.6): the rows of base/config_vars.def, and nothing else.
 *
 * A variable can be written until the library starts (that is what a tool does between
 * MPI_T_init_thread and MPI_Init), or at any time where the library looks at it when it needs it.
 */
#ifndef WEFT_TOOL_CVAR_H
#define WEFT_TOOL_CVAR_H

#include "tool/category.h"
#include "tool/enumeration.h"
#include "mpi.h"

#include <stdbool.h>

typedef struct weft_cvar {
    char name[40];
    const char *help;
    int index; /* of the row */
    int verbosity, scope;
    weft_category_t category;
    MPI_Datatype type;
    const weft_enum_t *items; /* NULL: none */
} weft_cvar_t;

typedef struct weft_cvar_handle weft_cvar_handle_t;

/* All of these with the tool's lock; errors are those of MPI_T. */

int weft_cvars_open(void);
void weft_cvars_close(void);

int weft_cvar_count(void);
const weft_cvar_t *weft_cvar(int index);

int weft_cvar_handle_create(const weft_cvar_t *cvar, weft_cvar_handle_t **out);
void weft_cvar_handle_free(weft_cvar_handle_t *handle);
/** NULL: not a live handle. Any address may be given. */
weft_cvar_handle_t *weft_cvar_handle_of(MPI_T_cvar_handle handle);
/** Elements of a value: of a text the room for it, its final 0 included. */
int weft_cvar_elements(const weft_cvar_handle_t *handle);

void weft_cvar_read(const weft_cvar_handle_t *handle, void *out);
/** `has_started`: the library has read those variables that may be changed only before. */
int weft_cvar_write(const weft_cvar_handle_t *handle, bool has_started, const void *value);

#endif
