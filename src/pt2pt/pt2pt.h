/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point communication: what src/mpi and src/coll call. Ranks are those of the
 * communicator, MPI_PROC_NULL included; arguments have been checked; the lock is held.
 */
#ifndef WEFT_PT2PT_PT2PT_H
#define WEFT_PT2PT_PT2PT_H

#include "object/comm.h"
#include "object/request.h"
#include "runtime/device.h"
#include "datatype/type.h"
#include "mpi.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum weft_send_mode {
    WEFT_SEND_STANDARD, /* and ready sends: it is of no use here that the receive is posted */
    WEFT_SEND_SYNCHRONOUS,
} weft_send_mode_t;

typedef struct weft_send_args {
    const void *buf;
    size_t count;
    weft_type_t *type;
    weft_comm_t *comm;
    uint32_t context; /* comm->context, or comm->context | 1 for collectives */
    int dest, tag;
    weft_send_mode_t mode : 8; /* small, so that a call's arguments stay within 48 bytes */
    unsigned is_blocking : 4;  /* the caller waits until the buffer may be changed */
    unsigned is_buffered : 4;  /* the data are a copy: nobody gains if the receiver reads them */
    weft_where_t where : 16;   /* the memory of `buf`; 0: not known yet */
} weft_send_args_t;

typedef struct weft_recv_args {
    void *buf;
    size_t count;
    weft_type_t *type;
    weft_comm_t *comm;
    uint32_t context;
    int source, tag; /* or MPI_ANY_SOURCE, MPI_ANY_TAG */
    weft_where_t where;
} weft_recv_args_t;

/** Begin a send. *out = &weft_request_done when the buffer may be changed already. MPI_ERR_NO_MEM.
 */
int weft_send_begin(const weft_send_args_t *args, weft_request_t **out);

/** As weft_send_begin, and the request can be cancelled even if the message is out. */
int weft_isend_begin(const weft_send_args_t *args, weft_request_t **out);

/** Send an error, of class `error` with the text of weft_fail, in place of the message of `args`:
 * what receives it ends with that error. */
void weft_send_failed_data(const weft_send_args_t *args, int error);

/** Send and wait. */
int weft_send(const weft_send_args_t *args);

/** Begin a receive; *out is complete already when the message was there. MPI_ERR_NO_MEM. */
int weft_recv_begin(const weft_recv_args_t *args, weft_request_t **out);

/** Receive and wait; `status` may be MPI_STATUS_IGNORE. MPI_ERR_TRUNCATE with a text. */
int weft_recv(const weft_recv_args_t *args, MPI_Status *status);

/** Begin both; one request stands for the two, with the receive's status. `is_replace`: both name
 * the same buffer, so the data to send are copied before the receive may write. MPI_ERR_NO_MEM. */
int weft_sendrecv_begin(const weft_send_args_t *send, const weft_recv_args_t *recv, bool is_replace,
                        weft_request_t **out);

/** Send and receive and wait for both; as weft_sendrecv_begin. MPI_ERR_TRUNCATE with a text. */
int weft_sendrecv(const weft_send_args_t *send, const weft_recv_args_t *recv, bool is_replace,
                  MPI_Status *status);

/** Inactive persistent requests; weft_request_ops_t.start makes them active. MPI_ERR_NO_MEM. */
int weft_send_init(const weft_send_args_t *args, weft_request_t **out);
int weft_recv_init(const weft_recv_args_t *args, weft_request_t **out);

/** What a probe asks for. */
typedef struct weft_probe_args {
    weft_comm_t *comm;
    int source, tag;
    bool takes; /* weft_improbe() and weft_mprobe() set it */
} weft_probe_args_t;

/** A message taken out of the queue by a matched probe: the object of an MPI_Message. */
typedef struct weft_message weft_message_t;

/** Look for a message once; if one is there, *status describes it. All probes return MPI_ERR_OTHER
 *  with a text where none is there and the source is lost. */
int weft_iprobe(const weft_probe_args_t *args, bool *is_there_out, MPI_Status *status);
int weft_probe(const weft_probe_args_t *args, MPI_Status *status);
/** As weft_iprobe; *out is the message, which only weft_mrecv_begin can receive, or NULL. */
int weft_improbe(const weft_probe_args_t *args, weft_message_t **out, MPI_Status *status);
int weft_mprobe(const weft_probe_args_t *args, weft_message_t **out, MPI_Status *status);

/** The message of a handle; NULL: not a live message (MPI_MESSAGE_NULL and _NO_PROC included). */
weft_message_t *weft_message_of(MPI_Message handle);
MPI_Message weft_message_handle(weft_message_t *message);
weft_comm_t *weft_message_comm(const weft_message_t *message);

/** Receive a probed message into args->buf; context, source and tag of args do not matter. Consumes
 *  the message. */
int weft_mrecv_begin(const weft_recv_args_t *args, weft_message_t *message, weft_request_t **out);

int weft_request_explain(const weft_request_t *request) __attribute__((cold));

/** The error of a request: sets the text of weft_fail and returns the error class. MPI_SUCCESS for
 *  a request without error. */
static inline int weft_request_result(const weft_request_t *request)
{
    return __builtin_expect(request->status.MPI_ERROR == MPI_SUCCESS, 1)
               ? MPI_SUCCESS
               : weft_request_explain(request);
}

/** As weft_request_inherit_error, and with the text that weft_request_result makes of a receive
 *  whose message was too long: the receive is gone when the error is reported. */
void weft_request_inherit_result(weft_request_t *request, weft_request_t *part)
    __attribute__((cold));

/** Wait for a request and release it. *status (or MPI_STATUS_IGNORE) is set; returns its result. */
int weft_request_finish(weft_request_t *request, MPI_Status *status);

/** A message that has arrived, and that no receive and no matched probe has taken. */
typedef struct weft_waiting_message {
    uint32_t context; /* odd: of a collective */
    int process, tag; /* of the sender */
    size_t bytes;
} weft_waiting_message_t;

/** Call `visit` for each of them, in order of arrival, with `context` passed on. */
void weft_pt2pt_waiting_each(void (*visit)(const weft_waiting_message_t *message, void *context),
                             void *context);

/** weft_world.awaits. */
bool weft_packet_is_awaited(int source_process, const weft_header_t *header);
/** weft_world.land: the buffer of the receive that a packet is for. */
void *weft_packet_land(int source_process, weft_header_t *header);

/** Gets every packet: given to the transports when they are opened. */
void weft_packet_arrived(int source_process, weft_header_t header, const void *payload);

/** A rank cannot be reached any more: sends to it, receives and probes from it, and those from any
 *  source end with MPI_ERR_OTHER and the text `why`; so do those that begin later. */
void weft_pt2pt_peer_lost(int process, const char *why);

/** The same for all ranks of other hosts: weft_world.network_lost. */
void weft_pt2pt_network_lost(const char *why);

/** Called, with WEFT_RECOVERY, when what waited for a failed process has ended. NULL: nobody. */
extern void (*weft_pt2pt_on_failure)(int process);

/** Failures on `comm` have been acknowledged: receives from any source wait on, if all are. */
void weft_pt2pt_acknowledged(weft_comm_t *comm);

/** A communicator is revoked, and its is_revoked is set: end what waits on it, refuse what comes.
 *  MPI_ERR_NO_MEM. */
int weft_pt2pt_revoke(uint32_t context);

/** MPIX_ERR_REVOKED, with a text. */
int weft_pt2pt_check_revoked(const weft_comm_t *comm);

/** Calls that communicate begin with this where weft_world.is_watchful: there is WEFT_RECOVERY, or
 *  a communicator was revoked. As weft_pt2pt_check_revoked(); makes progress now and then, since a
 *  rank that only sends would never hear that a communicator is revoked. Not to be called in
 *  progress. */
int weft_pt2pt_look(const weft_comm_t *comm);

/** Send a note of src/ft, in its place among the messages to a process; dropped if that is lost. */
void weft_pt2pt_send_note(int process, const void *note, size_t bytes);

/** Gets the notes that arrive; `note` is valid during the call. NULL: they are dropped. */
extern void (*weft_pt2pt_on_note)(int source, const void *note, size_t bytes);

/** Begin a receive of a program that will complete its request: as weft_recv_begin. */
int weft_irecv_begin(const weft_recv_args_t *args, weft_request_t **out);

int weft_pt2pt_open(void);
/** Wait until all sends of this process are complete and no packet waits for room. MPI_ERR_OTHER,
 * with a text: some messages will never be received, and no call has reported that.
 * is_end  weft_pt2pt_close() is all that comes after this; else weft_pt2pt_tell_rest() */
int weft_pt2pt_await_idle(bool is_end);
/** This process does not use MPI from now on (or it does again), and may end: ranks of other hosts
 * are told, so that they do not take its end for a failure. */
void weft_pt2pt_tell_rest(bool rests);
/** All processes have called MPI_Finalize: those that have no sessions may end without a word. */
void weft_pt2pt_expect_ends(void);
/** weft_world.waited_long: sends to ranks that have called MPI_Finalize fail, and so do receives
 * that wait for messages of such ranks. */
void weft_pt2pt_waited_long(const bool *flag);
void weft_pt2pt_close(void);

#endif
