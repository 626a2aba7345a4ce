/* SPDX-License-Identifier: BSD-3-Clause */
/* Probing, plain and matched (MPI 5.0 section 3.8). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"

static int check_probe(weft_call_t *call, int source, int tag, MPI_Comm handle,
                       weft_probe_args_t *out)
{
    *out = (weft_probe_args_t){.source = source, .tag = tag};
    int err = weft_check_live_comm(call, handle, &out->comm);
    if (err == MPI_SUCCESS)
        err = weft_check_rank(out->comm, source, true, "source");
    if (err == MPI_SUCCESS)
        err = weft_check_tag(tag, true, "tag");
    return err;
}

static void give_proc_null(MPI_Status *status)
{
    MPI_Status from_nobody = weft_status_proc_null();
    weft_status_copy(status, &from_nobody);
}

/* `message` may be NULL: there is none. */
static MPI_Message give_message(const char *function, weft_message_t *message)
{
    MPI_Message handle = message == NULL ? MPI_MESSAGE_NULL : weft_message_handle(message);
    weft_note_given(WEFT_KIND_MESSAGE, handle, function);
    return handle;
}

/** Waits until a message is there that a receive with these arguments would get, and does not
 *  receive it (section 3.8.1). status tells its source, tag and length, so that a buffer can be
 *  made for it. A receive with this source and tag then gets that message, if no other thread
 *  receives meanwhile; programs with threads use MPI_Mprobe.
 *  @param[in] source  a rank of comm, MPI_ANY_SOURCE, or MPI_PROC_NULL: the call returns at once,
 *      and status has the source MPI_PROC_NULL, the tag MPI_ANY_TAG and the length 0
 *  @param[in] tag  a tag, or MPI_ANY_TAG
 *  @param[out] status  describes the message, or MPI_STATUS_IGNORE
 *  @error MPI_ERR_OTHER  no such message is there, and the source has ended or cannot be reached,
 *      or the call waits for it, and the source has called MPI_Finalize (as for MPI_Recv)
 *  @see MPI_Iprobe, MPI_Mprobe, MPI_Get_count */
WEFT_API(MPI_Probe);
int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Probe");
    weft_probe_args_t args;
    int err = check_probe(&call, source, tag, comm, &args);
    if (err == MPI_SUCCESS && source == MPI_PROC_NULL)
        give_proc_null(status);
    else if (err == MPI_SUCCESS)
        err = weft_probe(&args, status);
    return weft_call_end(&call, err);
}

/** Looks whether a message is there that a receive with these arguments would get, and does not
 *  wait (section 3.8.1). Each call lets Weft make progress.
 *  @copydoc MPI_Probe
 *  @param[out] flag  true: a message is there, and status describes it; else status stays as it is
 *  @see MPI_Probe, MPI_Improbe */
WEFT_API(MPI_Iprobe);
int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Iprobe");
    weft_probe_args_t args;
    int err = check_probe(&call, source, tag, comm, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS && source == MPI_PROC_NULL) {
        give_proc_null(status);
        *flag = true;
    } else if (err == MPI_SUCCESS) {
        bool is_there;
        err = weft_iprobe(&args, &is_there, status);
        *flag = is_there;
    }
    return weft_call_end(&call, err);
}

/** Waits until a message is there that a receive with these arguments would get, and takes it
 *  (section 3.8.2). Only MPI_Mrecv or MPI_Imrecv with this handle can receive it from then on, so
 *  it is safe with any number of threads.
 *  @copydoc MPI_Probe
 *  @param[out] message  the message; MPI_MESSAGE_NO_PROC if source is MPI_PROC_NULL
 *  @note Every message that was taken must be received.
 *  @see MPI_Improbe, MPI_Mrecv, MPI_Probe */
WEFT_API(MPI_Mprobe);
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Mprobe");
    weft_probe_args_t args;
    int err = check_probe(&call, source, tag, comm, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(message, "message");
    if (err == MPI_SUCCESS && source == MPI_PROC_NULL) {
        give_proc_null(status);
        *message = MPI_MESSAGE_NO_PROC;
    } else if (err == MPI_SUCCESS) {
        weft_message_t *found;
        err = weft_mprobe(&args, &found, status);
        *message = give_message(call.name, found);
    }
    return weft_call_end(&call, err);
}

/** Looks whether a message is there that a receive with these arguments would get, takes it if so,
 *  and does not wait (section 3.8.2).
 *  @copydoc MPI_Probe
 *  @param[out] flag  true: a message was taken, and status describes it; else status stays as it is
 *  @param[out] message  the message; MPI_MESSAGE_NULL if there is none, MPI_MESSAGE_NO_PROC if
 *      source is MPI_PROC_NULL
 *  @see MPI_Mprobe, MPI_Imrecv */
WEFT_API(MPI_Improbe);
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Improbe");
    weft_probe_args_t args;
    weft_message_t *found;
    int err = check_probe(&call, source, tag, comm, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        err = weft_check_output(message, "message");
    if (err == MPI_SUCCESS && source == MPI_PROC_NULL) {
        give_proc_null(status);
        *message = MPI_MESSAGE_NO_PROC;
        *flag = true;
    } else if (err == MPI_SUCCESS) {
        err = weft_improbe(&args, &found, status);
        *flag = found != NULL;
        *message = give_message(call.name, found);
    }
    return weft_call_end(&call, err);
}

/* The receive of a probed message; *out is NULL for MPI_MESSAGE_NO_PROC. */
static int begin_mrecv(weft_call_t *call, const weft_recv_args_t *buffer, MPI_Message *handle,
                       weft_request_t **out)
{
    if (*handle == MPI_MESSAGE_NO_PROC) {
        weft_recv_args_t from_nobody = *buffer;
        from_nobody.comm = &weft_comm_self;
        from_nobody.source = MPI_PROC_NULL;
        return weft_recv_begin(&from_nobody, out);
    }
    weft_message_t *message = weft_message_of(*handle);
    if (message == NULL)
        return weft_bad_message(*handle);
    call->comm = weft_message_comm(message);
    weft_note_back(message);
    return weft_mrecv_begin(buffer, message, out);
}

/* A message from MPI_PROC_NULL has no data, and needs no type. */
static bool probe_is_left_out(MPI_Count count, MPI_Datatype datatype, MPI_Message message)
{
    return message == MPI_MESSAGE_NO_PROC && count == 0 && datatype == MPI_DATATYPE_NULL;
}

static int check_mrecv(const void *buf, MPI_Count count, MPI_Datatype datatype,
                       const MPI_Message *message, weft_recv_args_t *out)
{
    int err = weft_check_count(count, "count");
    if (err == MPI_SUCCESS)
        err = weft_check_output(message, "message");
    if (err == MPI_SUCCESS && probe_is_left_out(count, datatype, *message))
        datatype = MPI_BYTE;
    if (err == MPI_SUCCESS)
        err = weft_check_receiving_type(datatype, count, "datatype", &out->type);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(buf, count, out->type, "buf");
    out->buf = (void *)buf;
    out->count = (size_t)count;
    return err;
}

/** Receives a message that a matched probe has taken, and returns when it is in buf
 *  (section 3.8.3).
 *  @param[in] count  the most elements that the message may have
 *  @param[in,out] message  of MPI_Mprobe or MPI_Improbe; becomes MPI_MESSAGE_NULL. With
 *      MPI_MESSAGE_NO_PROC nothing is received, and status is that of a receive from MPI_PROC_NULL.
 *  @error MPI_ERR_TRUNCATE  the message is longer than buf: buf is filled, and the rest of the
 *      message is lost
 *  @error MPI_ERR_REQUEST  message is MPI_MESSAGE_NULL, or was received already
 *  @error MPI_ERR_OTHER  the process that has sent the message was lost before all of it had come
 *  @see MPI_Mprobe, MPI_Imrecv */
WEFT_API(MPI_Mrecv_c);
int PMPI_Mrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                 MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Mrecv");
    weft_recv_args_t args = {0};
    weft_request_t *request;
    int err = check_mrecv(buf, count, datatype, message, &args);
    if (err == MPI_SUCCESS)
        err = begin_mrecv(&call, &args, message, &request);
    if (err == MPI_SUCCESS) {
        *message = MPI_MESSAGE_NULL;
        weft_request_wait(request);
        weft_status_copy(status, &request->status);
        err = weft_request_result(request);
        if (err != MPI_SUCCESS)
            weft_call_blame(&call, request->comm); /* the request may have the last reference */
        weft_request_release(request);
    }
    return weft_call_end(&call, err);
}

/** Starts to receive a message that a matched probe has taken, and returns at once (section 3.8.3).
 *  Until the request is complete buf must not be touched. That the message is longer than buf is an
 *  error of the call that completes the request.
 *  @copydoc MPI_Mrecv
 *  @see MPI_Mrecv, MPI_Improbe */
WEFT_API(MPI_Imrecv_c);
int PMPI_Imrecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message,
                  MPI_Request *handle)
{
    weft_call_t call = weft_call_begin("MPI_Imrecv");
    weft_recv_args_t args = {0};
    weft_request_t *request;
    int err = check_mrecv(buf, count, datatype, message, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(handle, "request");
    if (err == MPI_SUCCESS)
        err = begin_mrecv(&call, &args, message, &request);
    if (err == MPI_SUCCESS) {
        *message = MPI_MESSAGE_NULL;
        *handle = weft_give_request(call.name, request);
    }
    return weft_call_end(&call, err);
}
