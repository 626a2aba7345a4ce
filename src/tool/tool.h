/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tool information interface (MPI 5.0 section 15.3) as a whole: it is open from the first
 * MPI_T_init_thread to the last MPI_T_finalize, before, beside and after MPI.
 *
 * It has a lock of its own, since events are raised by calls of programs without threads, which do
 * not take the library's lock, while a thread of the tool calls MPI_T. It is taken after the
 * library's lock, and it is recursive: callbacks of events call MPI_T.
 */
#ifndef WEFT_TOOL_TOOL_H
#define WEFT_TOOL_TOOL_H

#include "tool/event.h"
#include "tool/pvar.h"

#include <stdbool.h>

void weft_tool_lock(void);
void weft_tool_unlock(void);

/** Between these the calling thread runs a tool's callback within MPI: it holds the tool's lock,
 *  and must not take the library's, which it may hold too. */
void weft_tool_enter_callback(void);
void weft_tool_leave_callback(void);
bool weft_tool_is_in_callback(void);

/** Return `error`, an error of MPI_T, which comes without a text: the text goes to the log at level
 *  info. */
int weft_tool_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/** What the parts of the library have for tools. */
typedef struct weft_tool_parts {
    const weft_pvar_table_t *const *pvars;
    int pvar_tables;
    weft_event_type_t *const *events;
    int event_types;
} weft_tool_parts_t;

/* With the tool's lock. */

/** Once more. `parts` are those of the first time. */
int weft_tool_open(const weft_tool_parts_t *parts);
/** Once less; at the last time all handles go. MPI_T_ERR_NOT_INITIALIZED: it is not open. */
int weft_tool_close(void);
bool weft_tool_is_open(void);

#endif
