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

/** Gives the process a buffer for buffered sends (section 3.6). Communicators use it that have none
 *  of their own, and whose session has none. Until MPI_Buffer_detach the memory belongs to Weft.
 *  @param[in] buffer  memory, or MPI_BUFFER_AUTOMATIC: Weft takes memory from the heap for
 *      each message
 *  @param[in] size  in bytes: for all messages that may be on their way together their packed sizes
 *      and MPI_BSEND_OVERHEAD each; with MPI_BUFFER_AUTOMATIC it does not matter
 *  @error MPI_ERR_BUFFER  a buffer is attached already, or buffer is NULL though size is not 0
 *  @see MPI_Buffer_detach, MPI_Bsend, MPI_Comm_attach_buffer, MPI_Session_attach_buffer */
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

/** Waits until all messages in the buffer of the process are sent, and takes the buffer away from
 *  it (section 3.6). The memory may be used again when the call returns.
 *  @param[out] buffer_addr  the address of a pointer, which gets the address of the buffer, or
 *      MPI_BUFFER_AUTOMATIC
 *  @param[out] size  what was attached, in bytes; 0 for MPI_BUFFER_AUTOMATIC; MPI_UNDEFINED if an
 *      int cannot hold it
 *  @error MPI_ERR_BUFFER  no buffer is attached
 *  @note A buffer that is still attached at the end of MPI is detached there, when its messages are
 *      sent.
 *  @see MPI_Buffer_attach, MPI_Buffer_flush */
WEFT_API(MPI_Buffer_detach);
int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_detach");
    return weft_call_end(&call, detach_narrow(weft_bsend_of_process(), buffer_addr, size));
}

/** Waits until all messages that are in the buffer of the process have left it (section 3.6).
 *  Without a buffer the call returns at once.
 *  @see MPI_Buffer_iflush, MPI_Buffer_detach */
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

/** Gives a request that is complete when all messages that are now in the buffer of the process
 *  have left it (section 3.6).
 *  @see MPI_Buffer_flush, MPI_Wait */
WEFT_API(MPI_Buffer_iflush);
int PMPI_Buffer_iflush(MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Buffer_iflush");
    return weft_call_end(&call, begin_flush(call.name, weft_bsend_of_process(), NULL, request));
}

/** Gives a communicator a buffer of its own for buffered sends (section 3.6). The call is local;
 *  until MPI_Comm_detach_buffer the memory belongs to Weft.
 *  @copydoc MPI_Buffer_attach
 *  @see MPI_Comm_detach_buffer, MPI_Bsend, MPI_Buffer_attach */
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

/** Waits until all messages in the communicator's own buffer are sent, and takes the buffer away
 *  from it (section 3.6).
 *  @copydoc MPI_Buffer_detach
 *  @see MPI_Comm_attach_buffer, MPI_Comm_flush_buffer */
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

/** Waits until all messages that are in the communicator's own buffer have left it (section 3.6).
 *  Without such a buffer the call returns at once.
 *  @see MPI_Comm_iflush_buffer, MPI_Comm_attach_buffer */
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

/** Gives a request that is complete when all messages that are now in the communicator's own buffer
 *  have left it (section 3.6).
 *  @see MPI_Comm_flush_buffer, MPI_Wait */
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

/** Gives a session a buffer for buffered sends (section 3.6). Communicators use it that come from
 *  the session and have no buffer of their own. Until MPI_Session_detach_buffer the memory belongs
 *  to Weft.
 *  @copydoc MPI_Buffer_attach
 *  @see MPI_Session_detach_buffer, MPI_Bsend, MPI_Buffer_attach */
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

/** Waits until all messages in the buffer of the session are sent, and takes the buffer away from
 *  it (section 3.6).
 *  @copydoc MPI_Buffer_detach
 *  @note MPI_Session_finalize waits for the messages too, and detaches the buffer.
 *  @see MPI_Session_attach_buffer, MPI_Session_flush_buffer */
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

/** Waits until all messages that are in the buffer of the session have left it (section 3.6).
 *  Without a buffer the call returns at once.
 *  @see MPI_Session_iflush_buffer, MPI_Session_attach_buffer */
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

/** Gives a request that is complete when all messages that are now in the buffer of the session
 *  have left it (section 3.6).
 *  @see MPI_Session_flush_buffer, MPI_Wait */
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
