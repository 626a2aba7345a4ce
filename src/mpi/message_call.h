/* SPDX-License-Identifier: BSD-3-Clause */
/* What sends and receives share: the user's arguments as one structure, and the way from there to
 * those of pt2pt. On the path of a small message all checks are one condition. */
#ifndef WEFT_MPI_MESSAGE_CALL_H
#define WEFT_MPI_MESSAGE_CALL_H

#include "mpi/check.h"
#include "pt2pt/dense.h"
#include "pt2pt/vci_dense.h"
#include "pt2pt/pt2pt.h"
#include "runtime/lock.h"
#include "base/config.h"

/** The arguments of a send or a receive, as the user gave them. */
typedef struct weft_user_message {
    const void *buf;
    MPI_Count count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
} weft_user_message_t;

/** What the standard calls the arguments of a function, for messages. */
typedef struct weft_message_names {
    const char *buf, *count, *datatype, *peer, *tag;
} weft_message_names_t;

extern const weft_message_names_t weft_message_send_names, weft_message_recv_names;

/** Look at each argument. *type: that of the handle, or NULL, which becomes MPI_BYTE where a
 * message to or from MPI_PROC_NULL has no type. */
int weft_check_message(const weft_user_message_t *user, const weft_comm_t *comm, bool is_recv,
                       const weft_message_names_t *names, weft_type_t **type);

/** Are the arguments right, as those of nearly all calls, if the type may be used? False: it takes
 * weft_check_message() to know. */
static inline bool __attribute__((always_inline))
weft_is_usual_message(const weft_user_message_t *user, const weft_comm_t *comm, bool is_recv,
                      const weft_type_t *type)
{
    MPI_Count bytes;
    return user->count >= 0 &&
           ((unsigned)user->peer < (unsigned)comm->size ||
            (is_recv && user->peer == MPI_ANY_SOURCE)) &&
           (user->tag >= 0 || (is_recv && user->tag == MPI_ANY_TAG)) &&
           !weft_is_odd_buffer(user->buf) &&
           !__builtin_mul_overflow(user->count, (MPI_Count)type->size, &bytes);
}

static inline int __attribute__((always_inline))
weft_check_user_message(const weft_user_message_t *user, const weft_comm_t *comm, bool is_recv,
                        weft_type_t **type)
{
    bool is_usable = *type != NULL && (is_recv ? (*type)->can_receive : (*type)->is_committed);
    if (__builtin_expect(is_usable && weft_is_usual_message(user, comm, is_recv, *type), 1) ||
        !weft_config.CHECK_ARGS)
        return MPI_SUCCESS;
    return weft_check_message(user, comm, is_recv,
                              is_recv ? &weft_message_recv_names : &weft_message_send_names, type);
}

/** Also has errors go to the handler of the communicator. The mode is standard. */
static inline int __attribute__((always_inline))
weft_check_send(weft_call_t *call, const weft_user_message_t *user, weft_send_args_t *out)
{
    weft_comm_t *comm;
    weft_type_t *type = weft_type_of(user->datatype);
    int err = weft_check_live_comm(call, user->comm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_user_message(user, comm, false, &type);
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

static inline int __attribute__((always_inline))
weft_check_recv(weft_call_t *call, const weft_user_message_t *user, weft_recv_args_t *out)
{
    weft_comm_t *comm;
    weft_type_t *type = weft_type_of(user->datatype);
    int err = weft_check_live_comm(call, user->comm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_user_message(user, comm, true, &type);
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

/* ---- the short way ---- */

/** The library is not plain (weft_world.is_plain). If only since its calls take the lock: takes it,
 * and returns true. */
bool weft_lock_for_dense(void);

/** The end of a call on the short way, which may hold the lock. */
static inline int weft_end_dense(const char *name, weft_comm_t *comm, int error)
{
    if (__builtin_expect(error != MPI_SUCCESS, 0))
        return weft_call_failed(&(weft_call_t){.name = name, .comm = comm}, error);
    weft_unlock();
    return MPI_SUCCESS;
}

/** Are the arguments right, as those of nearly all calls are, and the data one run? Then *out is
 * the message. */
static inline bool __attribute__((always_inline))
weft_is_dense_message(const weft_user_message_t *user, bool is_recv, weft_dense_message_t *out)
{
    weft_comm_t *comm = weft_comm_of(user->comm);
    weft_type_t *type = weft_type_of(user->datatype);
    if (comm == NULL || type == NULL || !type->is_dense ||
        !weft_is_usual_message(user, comm, is_recv, type))
        return false;
    *out = (weft_dense_message_t){comm, (size_t)user->count * type->size};
    return true;
}

/** Is this a message that may go with the lock of its VCI alone (pt2pt/vci_dense.h)? */
static inline bool weft_goes_by_vci(const weft_user_message_t *user, bool is_recv,
                                    weft_dense_message_t *out)
{
    return __builtin_expect(!weft_world.is_plain, 0) && weft_vcis_are_used() &&
           weft_is_dense_message(user, is_recv, out) && weft_comm_has_vci(out->comm);
}

/** Receive a message that is one run, in a blocking call. Returns its error, which may have a
 * text. */
static inline int weft_recv_here(void *buf, weft_dense_message_t message, int source, int tag,
                                 MPI_Status *status)
{
    if (weft_recv_slot(buf, message, source, tag, status))
        return MPI_SUCCESS;
    weft_request_t *begun = weft_recv_dense(buf, message, source, tag, true);
    return begun == NULL ? MPI_ERR_NO_MEM : weft_request_finish(begun, status);
}

/** The whole of a blocking receive: of any message, or of one that weft_goes_by_vci(). */
int weft_recv_any(const char *name, const weft_user_message_t *user, MPI_Status *status);
int weft_recv_by_vci(const char *name, const weft_user_message_t *user,
                     weft_dense_message_t message, MPI_Status *status);

/** Is the message such a one, and is there nothing that the call would have to do first? Then the
 * call goes on to weft_end_dense(). False: nothing was done, and the long way does all in its
 * order. */
static inline bool __attribute__((always_inline))
weft_begin_dense(const weft_user_message_t *user, bool is_recv, weft_dense_message_t *out)
{
    if (!weft_world.is_plain && !weft_lock_for_dense())
        return false; /* without MPI the objects behind handles are gone */
    if (__builtin_expect(weft_is_dense_message(user, is_recv, out), 1))
        return true;
    weft_unlock();
    return false;
}

#endif
