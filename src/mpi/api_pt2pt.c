/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point communication: sends, receives and their persistent forms (MPI 5.0 chapter 3). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "stream/enqueue.h"
#include "pt2pt/bsend.h"
#include "pt2pt/pt2pt.h"

#include <string.h>

/* ---- converting the arguments of MPI functions to those of pt2pt ---- */

/* The arguments that sends and receives share, as the user gave them. */
typedef struct user_message {
    const void *buf;
    MPI_Count count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
} user_message_t;

/* Nothing goes to or comes from MPI_PROC_NULL: programs leave the type out there. */
static int __attribute__((cold)) check_no_type(const user_message_t *user, weft_type_t **out)
{
    if (user->peer != MPI_PROC_NULL || user->count != 0 || user->datatype != MPI_DATATYPE_NULL)
        return weft_bad_type(user->datatype, "datatype");
    *out = weft_type_of(MPI_BYTE);
    return MPI_SUCCESS;
}

static inline int check_type(const user_message_t *user, weft_type_t **type)
{
    if (__builtin_expect(*type == NULL, 0))
        return check_no_type(user, type);
    return __builtin_expect((*type)->is_committed, 1) ? MPI_SUCCESS
                                                      : weft_uncommitted_type(*type, "datatype");
}

/* *type: that of the handle, or NULL. */
static inline int check_message(const user_message_t *user, const weft_comm_t *comm, bool is_recv,
                                weft_type_t **type)
{
    int err = weft_check_count(user->count, "count");
    if (err == MPI_SUCCESS)
        err = check_type(user, type);
    if (err == MPI_SUCCESS)
        err = weft_check_rank(comm, user->peer, is_recv, is_recv ? "source" : "dest");
    if (err == MPI_SUCCESS)
        err = weft_check_tag(user->tag, is_recv);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(user->buf, user->count, *type, "buf");
    return err;
}

static inline int check_send(weft_call_t *call, const user_message_t *user, weft_send_args_t *out)
{
    weft_comm_t *comm;
    weft_type_t *type = weft_type_of(user->datatype);
    int err = weft_check_comm(call, user->comm, &comm);
    if (err == MPI_SUCCESS && __builtin_expect(weft_config.CHECK_ARGS, 1))
        err = check_message(user, comm, false, &type);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        return err;
    *out = (weft_send_args_t){.buf = user->buf,
                              .count = (size_t)user->count,
                              .type = type,
                              .comm = comm,
                              .context = comm->context,
                              .dest = user->peer,
                              .tag = user->tag};
    return MPI_SUCCESS;
}

static inline int check_recv(weft_call_t *call, const user_message_t *user, weft_recv_args_t *out)
{
    weft_comm_t *comm;
    weft_type_t *type = weft_type_of(user->datatype);
    int err = weft_check_comm(call, user->comm, &comm);
    if (err == MPI_SUCCESS && __builtin_expect(weft_config.CHECK_ARGS, 1))
        err = check_message(user, comm, true, &type);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        return err;
    *out = (weft_recv_args_t){.buf = (void *)user->buf,
                              .count = (size_t)user->count,
                              .type = type,
                              .comm = comm,
                              .context = comm->context,
                              .source = user->peer,
                              .tag = user->tag};
    return MPI_SUCCESS;
}

typedef int (*begin_send_fn_t)(const weft_send_args_t *args, weft_request_t **out);

static inline int send_blocking(const char *name, const user_message_t *user, weft_send_mode_t mode)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    int err = check_send(&call, user, &args);
    if (__builtin_expect(err == MPI_SUCCESS, 1)) {
        args.mode = mode;
        err = weft_send(&args);
    }
    return weft_call_end(&call, err);
}

static inline int send_with(const char *name, const user_message_t *user, weft_send_mode_t mode,
                            begin_send_fn_t begin, MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    weft_request_t *request;
    int err = check_send(&call, user, &args);
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

WEFT_API(MPI_Send_c);
int PMPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_blocking("MPI_Send", &user, WEFT_SEND_STANDARD);
}

WEFT_API(MPI_Rsend_c);
int PMPI_Rsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_blocking("MPI_Rsend", &user, WEFT_SEND_STANDARD);
}

WEFT_API(MPI_Ssend_c);
int PMPI_Ssend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_blocking("MPI_Ssend", &user, WEFT_SEND_SYNCHRONOUS);
}

WEFT_API(MPI_Bsend_c);
int PMPI_Bsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    MPI_Request ignored;
    return send_with("MPI_Bsend", &user, WEFT_SEND_STANDARD, weft_bsend_begin, &ignored);
}

WEFT_API(MPI_Isend_c);
int PMPI_Isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Isend", &user, WEFT_SEND_STANDARD, weft_isend_begin, request);
}

WEFT_API(MPI_Irsend_c);
int PMPI_Irsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Irsend", &user, WEFT_SEND_STANDARD, weft_isend_begin, request);
}

WEFT_API(MPI_Issend_c);
int PMPI_Issend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Issend", &user, WEFT_SEND_SYNCHRONOUS, weft_send_begin, request);
}

WEFT_API(MPI_Ibsend_c);
int PMPI_Ibsend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Ibsend", &user, WEFT_SEND_STANDARD, weft_bsend_begin, request);
}

WEFT_API(MPI_Send_init_c);
int PMPI_Send_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Send_init", &user, WEFT_SEND_STANDARD, weft_send_init, request);
}

WEFT_API(MPI_Rsend_init_c);
int PMPI_Rsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Rsend_init", &user, WEFT_SEND_STANDARD, weft_send_init, request);
}

WEFT_API(MPI_Ssend_init_c);
int PMPI_Ssend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Ssend_init", &user, WEFT_SEND_SYNCHRONOUS, weft_send_init, request);
}

WEFT_API(MPI_Bsend_init_c);
int PMPI_Bsend_init_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return send_with("MPI_Bsend_init", &user, WEFT_SEND_STANDARD, weft_bsend_init, request);
}

/* ---- receives ---- */

WEFT_API(MPI_Recv_c);
int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Recv");
    user_message_t user = {buf, count, datatype, source, tag, comm};
    weft_recv_args_t args;
    int err = check_recv(&call, &user, &args);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = weft_recv(&args, status);
    return weft_call_end(&call, err);
}

typedef int (*begin_recv_fn_t)(const weft_recv_args_t *args, weft_request_t **out);

static inline int recv_with(const char *name, const user_message_t *user, begin_recv_fn_t begin,
                            MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_recv_args_t args;
    weft_request_t *request;
    int err = check_recv(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (err == MPI_SUCCESS)
        err = begin(&args, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Irecv_c);
int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, source, tag, comm};
    return recv_with("MPI_Irecv", &user, weft_recv_begin, request);
}

WEFT_API(MPI_Recv_init_c);
int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, source, tag, comm};
    return recv_with("MPI_Recv_init", &user, weft_recv_init, request);
}

/* ---- both at once ---- */

WEFT_API(MPI_Sendrecv_c);
int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Sendrecv");
    user_message_t out = {sendbuf, sendcount, sendtype, dest, sendtag, comm};
    user_message_t in = {recvbuf, recvcount, recvtype, source, recvtag, comm};
    weft_send_args_t send;
    weft_recv_args_t recv;
    int err = check_send(&call, &out, &send);
    if (err == MPI_SUCCESS)
        err = check_recv(&call, &in, &recv);
    if (err == MPI_SUCCESS)
        err = weft_sendrecv(&send, &recv, false, status);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Sendrecv_replace_c);
int PMPI_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    weft_call_t call = weft_call_begin("MPI_Sendrecv_replace");
    user_message_t out = {buf, count, datatype, dest, sendtag, comm};
    user_message_t in = {buf, count, datatype, source, recvtag, comm};
    weft_send_args_t send;
    weft_recv_args_t recv;
    int err = check_send(&call, &out, &send);
    if (err == MPI_SUCCESS)
        err = check_recv(&call, &in, &recv);
    if (err == MPI_SUCCESS)
        err = weft_sendrecv(&send, &recv, true, status);
    return weft_call_end(&call, err);
}

static int begin_exchange(const char *name, const weft_send_args_t *send,
                          const weft_recv_args_t *recv, bool is_replace, MPI_Request *out)
{
    weft_request_t *request;
    int err = weft_sendrecv_begin(send, recv, is_replace, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(name, request);
    return err;
}

WEFT_API(MPI_Isendrecv_c);
int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Isendrecv");
    user_message_t out = {sendbuf, sendcount, sendtype, dest, sendtag, comm};
    user_message_t in = {recvbuf, recvcount, recvtype, source, recvtag, comm};
    weft_send_args_t send;
    weft_recv_args_t recv;
    int err = check_send(&call, &out, &send);
    if (err == MPI_SUCCESS)
        err = check_recv(&call, &in, &recv);
    if (err == MPI_SUCCESS)
        err = begin_exchange(call.name, &send, &recv, false, request);
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Isendrecv_replace_c);
int PMPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request *request)
{
    weft_call_t call = weft_call_begin("MPI_Isendrecv_replace");
    user_message_t out = {buf, count, datatype, dest, sendtag, comm};
    user_message_t in = {buf, count, datatype, source, recvtag, comm};
    weft_send_args_t send;
    weft_recv_args_t recv;
    int err = check_send(&call, &out, &send);
    if (err == MPI_SUCCESS)
        err = check_recv(&call, &in, &recv);
    if (err == MPI_SUCCESS)
        err = begin_exchange(call.name, &send, &recv, true, request);
    return weft_call_end(&call, err);
}

/* ---- in the order of a stream ---- */

static int enqueue_send(const char *name, const user_message_t *user, MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t args;
    weft_request_t *request = NULL;
    int err = check_send(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_enqueue_send(name, &args, out == NULL ? NULL : &request);
    if (err == MPI_SUCCESS && out != NULL)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

static int enqueue_recv(const char *name, const user_message_t *user, MPI_Status *status,
                        MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_recv_args_t args;
    weft_request_t *request = NULL;
    int err = check_recv(&call, user, &args);
    if (err == MPI_SUCCESS)
        err = weft_enqueue_recv(name, &args, status, out == NULL ? NULL : &request);
    if (err == MPI_SUCCESS && out != NULL)
        *out = weft_give_request(call.name, request);
    return weft_call_end(&call, err);
}

static int no_request(const char *name, const user_message_t *user)
{
    weft_call_t call = weft_call_begin(name);
    call.comm = weft_comm_of(user->comm);
    return weft_call_end(&call, weft_bad_output("request"));
}

WEFT_API(MPIX_Send_enqueue);
int PMPIX_Send_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return enqueue_send("MPIX_Send_enqueue", &user, NULL);
}

WEFT_API(MPIX_Recv_enqueue);
int PMPIX_Recv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status *status)
{
    user_message_t user = {buf, count, datatype, source, tag, comm};
    return enqueue_recv("MPIX_Recv_enqueue", &user, status, NULL);
}

WEFT_API(MPIX_Isend_enqueue);
int PMPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, dest, tag, comm};
    return request == NULL ? no_request("MPIX_Isend_enqueue", &user)
                           : enqueue_send("MPIX_Isend_enqueue", &user, request);
}

WEFT_API(MPIX_Irecv_enqueue);
int PMPIX_Irecv_enqueue(void *buf, int count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    user_message_t user = {buf, count, datatype, source, tag, comm};
    return request == NULL ? no_request("MPIX_Irecv_enqueue", &user)
                           : enqueue_recv("MPIX_Irecv_enqueue", &user, MPI_STATUS_IGNORE, request);
}
