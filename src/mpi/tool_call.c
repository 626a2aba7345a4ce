/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/tool_call.h"

#include "object/comm.h"
#include "runtime/lock.h"

#include <stdio.h>
#include <string.h>

int weft_tool_begin(const char *name)
{
    if (!weft_tool_is_in_callback()) {
        weft_events_deliver();
        weft_lock_take();
    }
    weft_tool_lock();
    if (weft_tool_is_open())
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_NOT_INITIALIZED, "%s without MPI_T_init_thread", name);
}

int weft_tool_end(int error)
{
    weft_tool_unlock();
    if (!weft_tool_is_in_callback())
        weft_lock_give();
    return error;
}

int weft_tool_check_pointer(const void *pointer, const char *name)
{
    if (pointer != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID, "%s is NULL", name);
}

int weft_tool_check_index(int index, int count, const char *name)
{
    if (index >= 0 && index < count)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID_INDEX, "%s is %d, but must be 0 to %d", name, index,
                          count - 1);
}

int weft_tool_check_text(weft_tool_text_t text, const char *name)
{
    if (text.length == NULL || *text.length >= 0)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID, "%s is %d, but must be at least 0", name,
                          *text.length);
}

void weft_tool_give_text(weft_tool_text_t text, const char *value)
{
    if (text.length == NULL)
        return;
    if (text.buffer != NULL && *text.length > 0)
        snprintf(text.buffer, (size_t)*text.length, "%s", value);
    *text.length = (int)strlen(value) + 1;
}

int weft_tool_check_object(const void *object, bool is_of_comm, const void **out)
{
    *out = NULL;
    if (!is_of_comm)
        return MPI_SUCCESS;
    int err = weft_tool_check_pointer(object, "obj_handle");
    if (err != MPI_SUCCESS)
        return err;
    *out = weft_comm_of(*(const MPI_Comm *)object);
    if (*out != NULL)
        return MPI_SUCCESS;
    return weft_tool_fail(MPI_T_ERR_INVALID, "obj_handle points to no communicator");
}
