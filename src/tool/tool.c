/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tool/tool.h"

#include "tool/cvar.h"
#include "tool/pvar_handle.h"
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int openings;
static _Thread_local int callback_depth;

void weft_tool_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void weft_tool_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void weft_tool_enter_callback(void)
{
    callback_depth++;
}

void weft_tool_leave_callback(void)
{
    callback_depth--;
}

bool weft_tool_is_in_callback(void)
{
    return callback_depth > 0;
}

int weft_tool_fail(int error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    WEFT_LOG(WEFT_INFO, "tool", "%s", text);
    return error;
}

static void close_all(void)
{
    weft_events_close();
    wefti_pvar_handles_close();
    weft_pvars_close();
    weft_cvars_close();
    weft_enums_close();
}

int weft_tool_open(const weft_tool_parts_t *parts)
{
    if (openings > 0) {
        openings++;
        return MPI_SUCCESS;
    }
    int err = weft_cvars_open();
    if (err == MPI_SUCCESS)
        err = weft_pvars_open(parts->pvars, parts->pvar_tables);
    if (err == MPI_SUCCESS)
        err = weft_events_open(parts->events, parts->event_types);
    if (err == MPI_SUCCESS)
        openings = 1;
    else
        close_all();
    return err;
}

int weft_tool_close(void)
{
    if (openings == 0)
        return weft_tool_fail(MPI_T_ERR_NOT_INITIALIZED,
                              "MPI_T_finalize without MPI_T_init_thread");
    if (--openings == 0)
        close_all();
    return MPI_SUCCESS;
}

bool weft_tool_is_open(void)
{
    return openings > 0;
}
