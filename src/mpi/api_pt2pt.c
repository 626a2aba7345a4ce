/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point communication: sends, receives and their persistent forms (MPI 5.0 chapter 3). */
#include "mpi/api.h"

#include "mpi/leaks.h"
#include "mpi/message_call.h"
#include "stream/enqueue.h"
#include "pt2pt/bsend.h"
#include "pt2pt/pt2pt.h"

typedef int (*begin_send_fn_t)(const weft_send_args_t *args, weft_request_t **out);

/* A short way hands these functions a copy of its arguments, so that its own need not be in memory.
 */
static int send_blocking(const char *name, const weft_user_message_t *user, weft_send_mode_t mode)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    int err = weft_check_send(&call, user, &args);
    if (__builtin_expect(err == MPI_SUCCESS, 1)) {
        args.mode = mode;
        err = weft_send(&args);
    }
    return weft_call_end(&call, err);
}

static int send_with(const char *name, const weft_user_message_t *user, weft_send_mode_t mode,
                     begin_send_fn_t begin, MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    weft_request_t *request;
    int err = weft_check_send(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (__builtin_expect(err == MPI_SUCCESS, 1)) {
        args.mode = mode;
        err = begin(&args, &request);
    }
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

/* ---- sends ---- */

/* Sends the message if it can go the short way; *comm is then its communicator, and the call goes
 * on to weft_end_dense(). NULL: nothing was done. */
static inline weft_endpoint_t *__attribute__((always_inline))
send_dense(const weft_user_message_t *user, weft_comm_t **comm)
{
    weft_dense_message_t message;
    if (__builtin_expect(!weft_begin_dense(user, false, &message), 0))
        return NULL;
    weft_endpoint_t *endpoint = weft_send_dense(user->buf, message, user->peer, user->tag);
    if (__builtin_expect(endpoint == NULL, 0))
        weft_unlock();
    *comm = message.comm;
    return endpoint;
}

static bool send_by_vci(const weft_user_message_t *user, weft_request_t **sent)
{
    weft_dense_message_t message;
    return weft_goes_by_vci(user, false, &message) &&
           weft_vci_send(user->buf, message, user->peer, user->tag, sent);
}

/* Any message, by the short way or else by the long one. Not inline, so that what it needs to keep
 * costs nothing where a slot takes the message. */
static __attribute__((noinline)) int send_standard(const weft_user_message_t *user)
{
    weft_comm_t *comm;
    if (send_by_vci(user, NULL))
        return MPI_SUCCESS;
    weft_endpoint_t *endpoint = send_dense(user, &comm);
    if (__builtin_expect(endpoint == NULL, 0))
        return send_blocking("MPI_Send", user, WEFT_SEND_STANDARD);
    weft_sent_note(endpoint, comm->context, user->tag);
    weft_endpoint_flush(endpoint); /* the program may leave MPI for long */
    return weft_end_dense("MPI_Send", comm, MPI_SUCCESS);
}

/** Sends a message, and returns when buf may be changed (section 3.2.1). This does not mean that
 *  the message has been received: short messages are on their way when the call returns, long ones
 *  wait for their receive. A program that counts on either may wait for ever.
 *  @param[in] dest  a rank of comm (on an intercommunicator, of the other group), or MPI_PROC_NULL:
 *      nothing is sent, and the call returns at once
 *  @error MPI_ERR_OTHER  the process dest has ended or cannot be reached, or has called
 *      MPI_Finalize without having received the message
 *  @note Long are messages above WEFT_EAGER_MAX bytes (to other hosts WEFT_FABRIC_EAGER_MAX), and
 *      all messages while the receiver keeps more than WEFT_UNEXPECTED_MAX bytes that it has not
 *      received yet.
 *  @note To MPI_PROC_NULL, with a count of 0, datatype may be MPI_DATATYPE_NULL.
 *  @note Here and in all other calls buffers may be host memory or CUDA device memory.
 *  @see MPI_Isend, MPI_Ssend, MPI_Recv, MPI_Sendrecv */
WEFT_API(MPI_Send_c);
int PMPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    weft_dense_message_t message;
    if (__builtin_expect(weft_world.is_plain && weft_is_dense_message(&user, false, &message), 1)) {
        weft_slots_t *slots = weft_dense_slots(message, dest);
        if (__builtin_expect(slots != NULL, 1))
            return weft_slots_send_now(slots, weft_dense_header(message, tag), buf);
    }
    const weft_user_message_t copy = user;
    return send_standard(&copy);
}

/** Sends a message whose receive has been started already, and returns when buf may be changed
 *  (section 3.4). The program has to make sure that it has: without the receive the call is wrong.
 *  @copydoc MPI_Send
 *  @note Weft sends it as MPI_Send does, and does not look whether the receive is there.
 *  @see MPI_Send, MPI_Irsend */
WEFT_API(MPI_Rsend_c);
int PMPI_Rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_blocking("MPI_Rsend", &user, WEFT_SEND_STANDARD);
}

/** Sends a message, and returns when its receive has been started and buf may be changed
 *  (section 3.4). Nothing depends on the length of the message here, so a program that works with
 *  MPI_Ssend in place of MPI_Send does not count on messages that wait unreceived.
 *  @copydoc MPI_Send
 *  @see MPI_Send, MPI_Issend */
WEFT_API(MPI_Ssend_c);
int PMPI_Ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_blocking("MPI_Ssend", &user, WEFT_SEND_SYNCHRONOUS);
}

/** Copies a message into the attached buffer, and returns whether or not its receive has been
 *  started (section 3.4). The buffer is that of comm, else that of the session which comm comes
 *  from, else that of the process. There a message takes its packed size (count times the size of
 *  datatype) and at most MPI_BSEND_OVERHEAD bytes more, until it is on its way.
 *  @copydoc MPI_Send
 *  @error MPI_ERR_BUFFER  no buffer is attached, or the buffer has no room for the message at the
 *      moment
 *  @note If a message cannot be delivered after the call has returned, MPI_Finalize says so.
 *  @see MPI_Buffer_attach, MPI_Comm_attach_buffer, MPI_Session_attach_buffer */
WEFT_API(MPI_Bsend_c);
int PMPI_Bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    MPI_Request ignored;
    return send_with("MPI_Bsend", &user, WEFT_SEND_STANDARD, weft_bsend_begin, &ignored);
}

/** Starts to send a message, and returns at once (section 3.7.2). Until the request is complete buf
 *  must not be changed; the datatype may be freed at once. That the message cannot be delivered may
 *  be an error of the call that completes the request.
 *  @copydoc MPI_Send
 *  @note A short message may have been sent when the call returns; its request must be completed
 *      all the same.
 *  @see MPI_Wait, MPI_Test, MPI_Send, MPI_Send_init */
WEFT_API(MPI_Isend_c);
int PMPI_Isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    weft_comm_t *through;
    weft_request_t *sent;
    if (request != NULL && send_by_vci(&user, &sent)) {
        *request = weft_request_handle(sent);
        return MPI_SUCCESS;
    }
    weft_endpoint_t *endpoint = request == NULL ? NULL : send_dense(&user, &through);
    if (__builtin_expect(endpoint == NULL, 0)) {
        const weft_user_message_t copy = user;
        return send_with("MPI_Isend", &copy, WEFT_SEND_STANDARD, weft_isend_begin, request);
    }
    *request = weft_give_request("MPI_Isend", weft_sent_create(endpoint, through->context, tag));
    return weft_end_dense("MPI_Isend", through, MPI_SUCCESS);
}

/** Starts to send a message whose receive has been started already, and returns at once
 *  (section 3.7.2). Until the request is complete buf must not be changed.
 *  @copydoc MPI_Send
 *  @see MPI_Rsend, MPI_Isend */
WEFT_API(MPI_Irsend_c);
int PMPI_Irsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Irsend", &user, WEFT_SEND_STANDARD, weft_isend_begin, request);
}

/** Starts to send a message, and returns at once; the request is not complete before the receive
 *  has been started (section 3.7.2). Until then buf must not be changed.
 *  @copydoc MPI_Send
 *  @see MPI_Ssend, MPI_Isend */
WEFT_API(MPI_Issend_c);
int PMPI_Issend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Issend", &user, WEFT_SEND_SYNCHRONOUS, weft_send_begin, request);
}

/** Copies a message into the attached buffer, as MPI_Bsend does, and gives a request
 *  (section 3.7.2).
 *  @copydoc MPI_Send
 *  @error MPI_ERR_BUFFER  no buffer is attached, or the buffer has no room for the message at the
 *      moment
 *  @note The request is complete, and buf may be changed, when the call returns.
 *  @see MPI_Bsend */
WEFT_API(MPI_Ibsend_c);
int PMPI_Ibsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Ibsend", &user, WEFT_SEND_STANDARD, weft_ibsend_begin, request);
}

/** Makes a persistent request for a send (section 3.9). Nothing is sent before MPI_Start; each
 *  start sends what is in buf then, and until that send is complete buf must not be changed. The
 *  datatype may be freed at once. The request is freed by MPI_Request_free.
 *  @copydoc MPI_Send
 *  @see MPI_Start, MPI_Startall, MPI_Request_free, MPI_Recv_init */
WEFT_API(MPI_Send_init_c);
int PMPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Send_init", &user, WEFT_SEND_STANDARD, weft_send_init, request);
}

/** Makes a persistent request for a ready send, whose receive must have been started at each
 *  MPI_Start (section 3.9).
 *  @copydoc MPI_Send
 *  @see MPI_Send_init, MPI_Rsend */
WEFT_API(MPI_Rsend_init_c);
int PMPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Rsend_init", &user, WEFT_SEND_STANDARD, weft_send_init, request);
}

/** Makes a persistent request for a synchronous send (section 3.9).
 *  @copydoc MPI_Send
 *  @see MPI_Send_init, MPI_Ssend */
WEFT_API(MPI_Ssend_init_c);
int PMPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Ssend_init", &user, WEFT_SEND_SYNCHRONOUS, weft_send_init, request);
}

/** Makes a persistent request for a buffered send (section 3.9). MPI_Start copies the message into
 *  the attached buffer, and fails if the buffer has no room; the request is then complete at once.
 *  @copydoc MPI_Send
 *  @see MPI_Send_init, MPI_Bsend */
WEFT_API(MPI_Bsend_init_c);
int PMPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Bsend_init", &user, WEFT_SEND_STANDARD, weft_bsend_init, request);
}

/* ---- receives ---- */

/** Receives a message, and returns when it is in buf (section 3.2.4). A message that is shorter
 *  than buf leaves the rest of buf as it is; status tells the source, the tag and, by
 *  MPI_Get_count, the length.
 *  @param[in] count  the most elements that a message may have
 *  @param[in] source  a rank of comm (on an intercommunicator, of the other group), MPI_ANY_SOURCE,
 *      or MPI_PROC_NULL: nothing is received, the call returns at once, and status has the source
 *      MPI_PROC_NULL, the tag MPI_ANY_TAG and the length 0
 *  @param[in] tag  the tag of the message, or MPI_ANY_TAG
 *  @error MPI_ERR_TRUNCATE  the message is longer than buf: buf is filled, and the rest of the
 *      message is lost
 *  @error MPI_ERR_OTHER  the process source has ended or cannot be reached; with MPI_ANY_SOURCE,
 *      any process
 *  @error MPI_ERR_OTHER  source has called MPI_Finalize and has not sent the message; with
 *      MPI_ANY_SOURCE, all other processes of comm. Weft notices it within twice the time of
 *      `WEFT_UNRECEIVED_AFTER`; an MPI_Wait for the request of MPI_Irecv ends likewise, unless the
 *      thread level is MPI_THREAD_MULTIPLE, where another thread may cancel the receive.
 *  @note From MPI_PROC_NULL, with a count of 0, datatype may be MPI_DATATYPE_NULL.
 *  @note Here and in all other calls buffers may be host memory or CUDA device memory.
 *  @see MPI_Irecv, MPI_Probe, MPI_Mrecv, MPI_Sendrecv */
WEFT_API(MPI_Recv_c);
int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Status *status)
{
    weft_user_message_t user = {buf, count, datatype, source, tag, comm};
    weft_dense_message_t message;
    if (weft_goes_by_vci(&user, true, &message)) {
        const weft_user_message_t copy = user;
        return weft_recv_by_vci("MPI_Recv", &copy, message, status);
    }
    if (__builtin_expect(!weft_begin_dense(&user, true, &message), 0)) {
        const weft_user_message_t copy = user;
        return weft_recv_any("MPI_Recv", &copy, status);
    }
    int err = weft_recv_here(buf, message, source, tag, status);
    return weft_end_dense("MPI_Recv", message.comm, err);
}

static inline bool begin_by_vci(const weft_user_message_t *user, MPI_Request *out)
{
    weft_dense_message_t message;
    if (!weft_goes_by_vci(user, true, &message))
        return false;
    weft_request_t *begun = weft_vci_recv((void *)user->buf, message, user->peer, user->tag);
    if (begun != NULL)
        *out = weft_request_handle(begun);
    return begun != NULL;
}

typedef int (*begin_recv_fn_t)(const weft_recv_args_t *args, weft_request_t **out);

static int recv_with(const char *name, const weft_user_message_t *user, begin_recv_fn_t begin,
                     MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_recv_args_t args;
    weft_request_t *request;
    int err = weft_check_recv(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = begin(&args, &request);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

/** Starts to receive a message, and returns at once (section 3.7.2). Until the request is complete
 *  buf must not be touched; the datatype may be freed at once. That the message is longer than buf,
 *  or that its source has been lost, is an error of the call that completes the request.
 *  @copydoc MPI_Recv
 *  @see MPI_Wait, MPI_Test, MPI_Cancel, MPI_Recv, MPI_Recv_init */
WEFT_API(MPI_Irecv_c);
int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, source, tag, comm};
    weft_dense_message_t message;
    if (request != NULL && begin_by_vci(&user, request))
        return MPI_SUCCESS;
    if (__builtin_expect(request == NULL || !weft_begin_dense(&user, true, &message), 0)) {
        const weft_user_message_t copy = user;
        return recv_with("MPI_Irecv", &copy, weft_irecv_begin, request);
    }
    weft_request_t *begun = weft_recv_dense(buf, message, source, tag, false);
    if (__builtin_expect(begun != NULL, 1))
        *request = weft_give_request("MPI_Irecv", begun);
    return weft_end_dense("MPI_Irecv", message.comm, begun != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM);
}

/** Makes a persistent request for a receive (section 3.9). Each MPI_Start starts to receive a
 *  message, and until that is complete buf must not be touched. The datatype may be freed at once.
 *  The request is freed by MPI_Request_free.
 *  @copydoc MPI_Recv
 *  @see MPI_Start, MPI_Startall, MPI_Request_free, MPI_Send_init */
WEFT_API(MPI_Recv_init_c);
int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, source, tag, comm};
    return recv_with("MPI_Recv_init", &user, weft_recv_init, request);
}

/* ---- in the order of a stream ---- */

static int enqueue_send(const char *name, const weft_user_message_t *user, MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    weft_request_t *request = NULL;
    int err = weft_check_send(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_enqueue_send(name, &args, out == NULL ? NULL : &request);
    if (err == MPI_SUCCESS && out != NULL)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

static int enqueue_recv(const char *name, const weft_user_message_t *user, MPI_Status *status,
                        MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_recv_args_t args;
    weft_request_t *request = NULL;
    int err = weft_check_recv(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_enqueue_recv(name, &args, status, out == NULL ? NULL : &request);
    if (err == MPI_SUCCESS && out != NULL)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

static int no_request(const char *name, const weft_user_message_t *user)
{
    weft_call_t call = weft_call_begin(name);
    call.comm = weft_comm_of(user->comm);
    return weft_call_end(&call, weft_bad_output("request"));
}

/** Sends a message like MPI_Send, but in the order of the CUDA stream of comm, and returns at once
 *  (mpix.h). The message is sent when the stream has done what was put into it before, and the
 *  stream goes on when buf may be changed; until then buf must stay as it is. While the stream is
 *  captured the send becomes part of the graph.
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note If the operation fails, a thread of Weft calls the error handler of comm. With
 *      MPI_ERRORS_RETURN, the next of these calls on the stream that could return it returns the
 *      error, and does nothing else.
 *  @note At most 256 operations wait in a stream; the next call waits for one of them.
 *  @see MPIX_Stream_comm_create, MPIX_Isend_enqueue, MPIX_Recv_enqueue */
WEFT_API(MPIX_Send_enqueue);
int PMPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return enqueue_send("MPIX_Send_enqueue", &user, NULL);
}

/** Receives a message like MPI_Recv, but in the order of the CUDA stream of comm, and returns at
 *  once (mpix.h). The receive is started when the stream has done what was put into it before, and
 *  the stream goes on when the message is in buf.
 *  @param[in] count  the most elements that a message may have
 *  @param[in] tag  the tag of the message, or MPI_ANY_TAG
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @param[out] status  written when the stream runs the operation, and must stay until then;
 *      MPI_ERROR is set if the operation fails. Or MPI_STATUS_IGNORE
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note If the operation fails, a thread of Weft calls the error handler of comm. With
 *      MPI_ERRORS_RETURN, status has the error; if it is MPI_STATUS_IGNORE, the next of these calls
 *      on the stream returns the error and does nothing else.
 *  @see MPIX_Stream_comm_create, MPIX_Irecv_enqueue, MPIX_Send_enqueue */
WEFT_API(MPIX_Recv_enqueue);
int PMPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status *status)
{
    weft_user_message_t user = {buf, count, datatype, source, tag, comm};
    return enqueue_recv("MPIX_Recv_enqueue", &user, status, NULL);
}

/** Puts a send into the CUDA stream of comm that the stream does not wait for (mpix.h). The message
 *  is sent when the stream has done what was put into it before; buf must stay as it is until the
 *  request is complete.
 *  @copydoc MPIX_Send_enqueue
 *  @param[out] request  for MPIX_Wait_enqueue or MPIX_Waitall_enqueue, by which the stream waits;
 *      outside of a capture also for MPI_Wait and MPI_Test, on the host
 *  @see MPIX_Wait_enqueue, MPIX_Send_enqueue */
WEFT_API(MPIX_Isend_enqueue);
int PMPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, dest, tag, comm};
    return request == NULL ? no_request("MPIX_Isend_enqueue", &user)
                           : enqueue_send("MPIX_Isend_enqueue", &user, request);
}

/** Puts a receive into the CUDA stream of comm that the stream does not wait for (mpix.h). It is
 *  started when the stream has done what was put into it before; buf must not be touched until the
 *  request is complete.
 *  @param[in] count  the most elements that a message may have
 *  @param[in] tag  the tag of the message, or MPI_ANY_TAG
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @param[out] request  for MPIX_Wait_enqueue or MPIX_Waitall_enqueue, by which the stream waits;
 *      outside of a capture also for MPI_Wait and MPI_Test, on the host
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @see MPIX_Wait_enqueue, MPIX_Recv_enqueue */
WEFT_API(MPIX_Irecv_enqueue);
int PMPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    weft_user_message_t user = {buf, count, datatype, source, tag, comm};
    return request == NULL ? no_request("MPIX_Irecv_enqueue", &user)
                           : enqueue_recv("MPIX_Irecv_enqueue", &user, MPI_STATUS_IGNORE, request);
}
