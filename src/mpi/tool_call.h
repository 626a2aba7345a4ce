/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of the functions of the tool information interface (MPI 5.0 section 15.3). They work
 * at any time, from any thread, and return an error without calling an error handler: what is
 * wrong goes to the log (WEFT_LOG=info).
 *
 *     int err = weft_tool_begin("MPI_T_cvar_get_num");
 *     if (err == MPI_SUCCESS)
 *         err = ...
 *     return weft_tool_end(err);
 */
#ifndef WEFT_MPI_TOOL_CALL_H
#define WEFT_MPI_TOOL_CALL_H

#include "tool/tool.h"

#include <stdbool.h>

/** Take the library's lock and the tool's (within a callback the thread has what it needs).
 *  MPI_T_ERR_NOT_INITIALIZED: the interface is not open; the locks are held all the same. */
int weft_tool_begin(const char *name);
int weft_tool_end(int error);

/** Checks of arguments; `name` is the argument's. */
int weft_tool_check_pointer(const void *pointer, const char *name);
/** MPI_T_ERR_INVALID_INDEX. */
int weft_tool_check_index(int index, int count, const char *name);

/** A string that a function returns: a buffer of the tool, and its length on entry. */
typedef struct weft_tool_text {
    char *buffer;
    int *length;
} weft_tool_text_t;

/** MPI_T_ERR_INVALID: the length is negative. */
int weft_tool_check_text(weft_tool_text_t text, const char *name);
/** As section 15.3.3 says: at most *length - 1 letters and a 0; *length becomes the room that the
 *  whole text needs. Without a buffer, or with length 0, only the latter; without a length
 *  nothing. */
void weft_tool_give_text(weft_tool_text_t text, const char *value);

/** Store where the tool wants it. */
static inline void weft_tool_give_int(int *out, int value)
{
    if (out != NULL)
        *out = value;
}

/** The communicator that `object` points to a handle of, where `is_of_comm`; else NULL. */
int weft_tool_check_object(const void *object, bool is_of_comm, const void **out);

#endif
