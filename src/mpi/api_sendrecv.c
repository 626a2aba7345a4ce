/* SPDX-License-Identifier: BSD-3-Clause */
/* A send and a receive in one call (MPI 5.0 section 3.10). */
#include "mpi/api.h"

#include "mpi/leaks.h"
#include "mpi/message_call.h"
#include "pt2pt/pt2pt.h"

/* What the standard calls the arguments of each direction. */
typedef struct exchange_names {
    weft_message_names_t send, recv;
} exchange_names_t;

static const exchange_names_t two_buffers = {
    {"sendbuf", "sendcount", "sendtype", "dest", "sendtag"},
    {"recvbuf", "recvcount", "recvtype", "source", "recvtag"}};
static const exchange_names_t one_buffer = {{"buf", "count", "datatype", "dest", "sendtag"},
                                            {"buf", "count", "datatype", "source", "recvtag"}};

/* The arguments as the user gave them. */
typedef struct user_exchange {
    weft_user_message_t send, recv;
    bool is_replace; /* the message that comes replaces the one that goes */
} user_exchange_t;

/* Check once more what has failed, to name the argument: so the names cost other calls nothing. */
static int __attribute__((cold)) name_failure(const weft_user_message_t *user, bool is_recv,
                                              const weft_message_names_t *names, int err)
{
    weft_comm_t *comm = weft_comm_of(user->comm);
    weft_type_t *type = weft_type_of(user->datatype);
    int named_err = comm == NULL ? err : weft_check_message(user, comm, is_recv, names, &type);
    return named_err == MPI_SUCCESS ? err : named_err;
}

static int check_exchange(weft_call_t *call, const user_exchange_t *user, weft_send_args_t *send,
                          weft_recv_args_t *recv)
{
    const exchange_names_t *names = user->is_replace ? &one_buffer : &two_buffers;
    int err = weft_check_send(call, &user->send, send);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        return name_failure(&user->send, false, &names->send, err);
    err = weft_check_recv(call, &user->recv, recv);
    if (__builtin_expect(err != MPI_SUCCESS, 0))
        return name_failure(&user->recv, true, &names->recv, err);
    return MPI_SUCCESS;
}

/* Where the message to send goes out at once, through a slot, what is left is to receive: in place
 * too, since it has been copied. False: nothing was done. */
static inline bool __attribute__((always_inline))
exchange_dense(const char *name, const user_exchange_t *user, MPI_Status *status, int *result)
{
    weft_dense_message_t sent, message;
    if (__builtin_expect(!weft_begin_dense(&user->send, false, &sent), 0))
        return false;
    weft_slots_t *slots = weft_is_dense_message(&user->recv, true, &message)
                              ? weft_dense_slots(sent, user->send.peer)
                              : NULL;
    if (slots == NULL) {
        weft_unlock();
        return false;
    }
    weft_slots_send_now(slots, weft_dense_header(sent, user->send.tag), user->send.buf);
    void *to = (void *)user->recv.buf;
    int source = user->recv.peer, tag = user->recv.tag;
    *result = weft_end_dense(name, message.comm, weft_recv_here(to, message, source, tag, status));
    return true;
}

static int exchange_any(const char *name, const user_exchange_t *user, MPI_Status *status)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t send;
    weft_recv_args_t recv;
    int err = check_exchange(&call, user, &send, &recv);
    if (err == MPI_SUCCESS)
        err = weft_sendrecv(&send, &recv, user->is_replace, status);
    return weft_call_end(&call, err);
}

/* The same where both messages are in VCIs. */
static __attribute__((noinline)) bool exchange_by_vci(const char *name, const user_exchange_t *user,
                                                      MPI_Status *status, int *result)
{
    weft_dense_message_t sent, message;
    if (!weft_goes_by_vci(&user->send, false, &sent) ||
        !weft_goes_by_vci(&user->recv, true, &message) ||
        !weft_vci_send(user->send.buf, sent, user->send.peer, user->send.tag, NULL))
        return false;
    *result = weft_recv_by_vci(name, &user->recv, message, status);
    return true;
}

/* By the short way, or else by the long one, which gets a copy, so that the arguments of the short
 * one need not be in memory. */
static inline int __attribute__((always_inline))
exchange(const char *name, const user_exchange_t *user, MPI_Status *status)
{
    int result;
    if (exchange_dense(name, user, status, &result))
        return result;
    const user_exchange_t copy = *user;
    if (weft_vcis_are_used() && exchange_by_vci(name, &copy, status, &result))
        return result;
    return exchange_any(name, &copy, status);
}

static int begin_exchange(const char *name, const user_exchange_t *user, MPI_Request *out)
{
    weft_call_t call = weft_call_begin(name);
    weft_send_args_t send;
    weft_recv_args_t recv;
    weft_request_t *request;
    int err = check_exchange(&call, user, &send, &recv);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "request");
    if (err == MPI_SUCCESS)
        err = weft_sendrecv_begin(&send, &recv, user->is_replace, &request);
    if (err == MPI_SUCCESS)
        *out = weft_give_request(name, request);
    return weft_call_end(&call, err);
}

/** Sends a message and receives another one, and returns when both are done (section 3.10). The two
 *  do not wait for each other, so ranks that exchange messages, in a ring for example, do not
 *  block. They match ordinary sends and receives too. The buffers must not overlap. status
 *  describes the received message.
 *  @param[in] dest  a rank of comm, or MPI_PROC_NULL: nothing is sent
 *  @param[in] recvcount  the most elements that the received message may have
 *  @param[in] source  a rank of comm, MPI_ANY_SOURCE, or MPI_PROC_NULL: nothing is received
 *  @param[in] recvtag  the tag of the received message, or MPI_ANY_TAG
 *  @error MPI_ERR_TRUNCATE  the received message is longer than recvbuf: recvbuf is filled, and the
 *      rest of the message is lost
 *  @error MPI_ERR_OTHER  one of the two processes has ended or cannot be reached, or dest has
 *      called MPI_Finalize without having received the message, or source without having sent one
 *  @see MPI_Isendrecv, MPI_Sendrecv_replace */
WEFT_API(MPI_Sendrecv_c);
int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                    int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                    int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    user_exchange_t user = {.send = {sendbuf, sendcount, sendtype, dest, sendtag, comm},
                            .recv = {recvbuf, recvcount, recvtype, source, recvtag, comm}};
    return exchange("MPI_Sendrecv", &user, status);
}

/** Sends the message in buf and receives another one into the same place (section 3.10).
 *  @param[in] dest  a rank of comm, or MPI_PROC_NULL: nothing is sent
 *  @param[in] source  a rank of comm, MPI_ANY_SOURCE, or MPI_PROC_NULL: nothing is received
 *  @param[in,out] buf  the message to send, then the received one
 *  @param[in] count  the elements that are sent, and the most that the received message may have
 *  @error MPI_ERR_OTHER  one of the two processes has ended or cannot be reached, or dest has
 *      called MPI_Finalize without having received the message, or source without having sent one
 *  @error MPI_ERR_TRUNCATE  the received message is longer than buf: buf is filled, and the rest of
 *      the message is lost
 *  @error MPI_ERR_NO_MEM  there is no memory for a copy of the message to send
 *  @note Weft copies the message to send; MPI_Sendrecv with two buffers is faster.
 *  @see MPI_Sendrecv, MPI_Isendrecv_replace */
WEFT_API(MPI_Sendrecv_replace_c);
int PMPI_Sendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                            int sendtag, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    user_exchange_t user = {.send = {buf, count, datatype, dest, sendtag, comm},
                            .recv = {buf, count, datatype, source, recvtag, comm},
                            .is_replace = true};
    return exchange("MPI_Sendrecv_replace", &user, status);
}

/** Starts to send a message and to receive another one, and returns at once (section 3.10). The one
 *  request is complete when both are done, and its status is that of the receive. Until then
 *  sendbuf must not be changed and recvbuf not be touched.
 *  @copydoc MPI_Sendrecv
 *  @note MPI_Cancel has no effect on the request.
 *  @see MPI_Sendrecv, MPI_Wait */
WEFT_API(MPI_Isendrecv_c);
int PMPI_Isendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                     int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    user_exchange_t user = {.send = {sendbuf, sendcount, sendtype, dest, sendtag, comm},
                            .recv = {recvbuf, recvcount, recvtype, source, recvtag, comm}};
    return begin_exchange("MPI_Isendrecv", &user, request);
}

/** Starts to send the message in buf and to receive another one into the same place, and returns at
 *  once (section 3.10). Until the request is complete buf must not be touched.
 *  @copydoc MPI_Sendrecv_replace
 *  @see MPI_Sendrecv_replace, MPI_Isendrecv */
WEFT_API(MPI_Isendrecv_replace_c);
int PMPI_Isendrecv_replace_c(void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                             int sendtag, int source, int recvtag, MPI_Comm comm,
                             MPI_Request *request)
{
    user_exchange_t user = {.send = {buf, count, datatype, dest, sendtag, comm},
                            .recv = {buf, count, datatype, source, recvtag, comm},
                            .is_replace = true};
    return begin_exchange("MPI_Isendrecv_replace", &user, request);
}
