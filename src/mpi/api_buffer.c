/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers for buffered sends (MPI 5.0 section 3.6). */
#include "mpi/api.h"

#include "mpi/leaks.h"
#include "mpi/session_call.h"
#include "mpi/check.h"
#include "pt2pt/bsend.h"

#include <limits.h>

static int api_attach_buffer(weft_bsend_place_t *place, void *buffer, MPI_Count size)
{
    int err = weft_check_count(size, "size");
    if (err == MPI_SUCCESS && weft_is_odd_buffer(buffer) && size > 0)
        err = weft_bad_buffer(buffer, "buffer");
    return err == MPI_SUCCESS ? weft_bsend_attach(place, buffer, (size_t)size) : err;
}

/* buffer_addr is a pointer to the pointer that gets the address. */
static int detach_buffer(weft_bsend_place_t *place, void *buffer_addr, MPI_Count *size)
{
    void *memory;
    size_t bytes;
    int err = weft_check_output(buffer_addr, "buffer_addr");
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS)
        err = weft_bsend_detach(place, &memory, &bytes);
    if (err == MPI_SUCCESS) {
        *(void **)buffer_addr = memory;
        *size = (MPI_Count)bytes;
    }
    return err;
}

static int detach_narrow(weft_bsend_place_t *place, void *buffer_addr, int *size)
{
    MPI_Count wide;
    int err = detach_buffer(place, buffer_addr, size == NULL ? NULL : &wide);
    if (err == MPI_SUCCESS)
        *size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    return err;
}

WEFT_API(MPI_Buffer_attach_c);
int PMPI_Buffer_attach_c(void *buffer, MPI_Count size)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_attach");
    return weft_call_end(&call, api_attach_buffer(weft_bsend_of_process(), buffer, size));
}

WEFT_API(MPI_Buffer_detach_c);
int PMPI_Buffer_detach_c(void *buffer_addr, MPI_Count *size)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_detach");
    return weft_call_end(&call, detach_buffer(weft_bsend_of_process(), buffer_addr, size));
}

WEFT_API(MPI_Buffer_detach);
int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_detach");
    return weft_call_end(&call, detach_narrow(weft_bsend_of_process(), buffer_addr, size));
}

WEFT_API(MPI_Buffer_flush);
int PMPI_Buffer_flush(void)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_flush");
    weft_bsend_flush(weft_bsend_of_process());
    return weft_call_end(&call, MPI_SUCCESS);
}

static int begin_flush(const char *name, weft_bsend_place_t *place, weft_comm_t *comm,
                       MPI_Request *out)
{
    weft_request_t *request;
    int err = weft_check_output(out, "request");
    if (err == MPI_SUCCESS)
        err = weft_bsend_flush_begin(place, comm, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(name, request);
    return err;
}

WEFT_API(MPI_Buffer_iflush);
int PMPI_Buffer_iflush(MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_iflush");
    return weft_call_end(&call, begin_flush(call.name, weft_bsend_of_process(), NULL, request));
}

WEFT_API(MPI_Comm_attach_buffer_c);
int PMPI_Comm_attach_buffer_c(MPI_Comm handle, void *buffer, MPI_Count size)
{
    weft_call_t call = weft_call_begin("MPI_Comm_attach_buffer");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = api_attach_buffer(weft_bsend_of_comm(comm), buffer, size);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Comm_detach_buffer_c);
int PMPI_Comm_detach_buffer_c(MPI_Comm handle, void *buffer_addr, MPI_Count *size)
{
    weft_call_t call = weft_call_begin("MPI_Comm_detach_buffer");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = detach_buffer(weft_bsend_of_comm(comm), buffer_addr, size);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Comm_detach_buffer);
int PMPI_Comm_detach_buffer(MPI_Comm handle, void *buffer_addr, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Comm_detach_buffer");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = detach_narrow(weft_bsend_of_comm(comm), buffer_addr, size);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Comm_flush_buffer);
int PMPI_Comm_flush_buffer(MPI_Comm handle)
{
    weft_call_t call = weft_call_begin("MPI_Comm_flush_buffer");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        weft_bsend_flush(weft_bsend_of_comm(comm));
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Comm_iflush_buffer);
int PMPI_Comm_iflush_buffer(MPI_Comm handle, MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Comm_iflush_buffer");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = begin_flush(call.name, weft_bsend_of_comm(comm), comm, request);
    return weft_call_end(&call, err);
}

/* ---- of sessions: used by communicators of a session that have none of their own ---- */

WEFT_API(MPI_Session_attach_buffer_c);
int PMPI_Session_attach_buffer_c(MPI_Session handle, void *buffer, MPI_Count size)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_attach_buffer");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = api_attach_buffer(weft_bsend_of_session(session), buffer, size);
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_detach_buffer_c);
int PMPI_Session_detach_buffer_c(MPI_Session handle, void *buffer_addr, MPI_Count *size)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_detach_buffer");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = detach_buffer(weft_bsend_of_session(session), buffer_addr, size);
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_detach_buffer);
int PMPI_Session_detach_buffer(MPI_Session handle, void *buffer_addr, int *size)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_detach_buffer");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err = detach_narrow(weft_bsend_of_session(session), buffer_addr, size);
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_flush_buffer);
int PMPI_Session_flush_buffer(MPI_Session handle)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_flush_buffer");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        weft_bsend_flush(weft_bsend_of_session(session));
    return weft_session_call_end(&call, err);
}

WEFT_API(MPI_Session_iflush_buffer);
int PMPI_Session_iflush_buffer(MPI_Session handle, MPI_Request *request)
{
    weft_session_call_t call = weft_session_call_begin("MPI_Session_iflush_buffer");
    weft_session_t *session;
    int err = weft_check_session(&call, handle, &session);
    if (err == MPI_SUCCESS)
        err =
            begin_flush("MPI_Session_iflush_buffer", weft_bsend_of_session(session), NULL, request);
    return weft_session_call_end(&call, err);
}
