/* SPDX-License-Identifier: BSD-3-Clause */
/* What sends and receives share: the user's arguments as one structure, and the way from there to
 * those of pt2pt. Inline, as all checks are: they are part of the path of a small message. */
#ifndef WEFT_MPI_MESSAGE_CALL_H
#define WEFT_MPI_MESSAGE_CALL_H

#include "mpi/check.h"
#include "pt2pt/pt2pt.h"
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

static const weft_message_names_t weft_message_send_names = {"buf", "count", "datatype", "dest",
                                                             "tag"},
                                  weft_message_recv_names = {"buf", "count", "datatype", "source",
                                                             "tag"};

/** Nothing goes to or comes from MPI_PROC_NULL: programs leave the type out there. */
static inline int __attribute__((cold))
weft_check_no_message_type(const weft_user_message_t *user, const char *name, weft_type_t **out)
{
    if (user->peer != MPI_PROC_NULL || user->count != 0 || user->datatype != MPI_DATATYPE_NULL)
        return weft_bad_type(user->datatype, name);
    *out = weft_type_of(MPI_BYTE);
    return MPI_SUCCESS;
}

static inline int weft_check_message_type(const weft_user_message_t *user, bool is_recv,
                                          const char *name, weft_type_t **type)
{
    if (__builtin_expect(*type == NULL, 0))
        return weft_check_no_message_type(user, name, type);
    bool is_usable = is_recv ? (*type)->can_receive : (*type)->is_committed;
    return __builtin_expect(is_usable, 1) ? MPI_SUCCESS
                                          : weft_unusable_type(*type, user->count, name);
}

/** *type: that of the handle, or NULL. */
static inline int __attribute__((always_inline))
weft_check_message(const weft_user_message_t *user, const weft_comm_t *comm, bool is_recv,
                   const weft_message_names_t *names, weft_type_t **type)
{
    int err = weft_check_count(user->count, names->count);
    if (err == MPI_SUCCESS)
        err = weft_check_message_type(user, is_recv, names->datatype, type);
    if (err == MPI_SUCCESS)
        err = weft_check_rank(comm, user->peer, is_recv, names->peer);
    if (err == MPI_SUCCESS)
        err = weft_check_tag(user->tag, is_recv, names->tag);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(user->buf, user->count, *type, names->buf);
    return err;
}

/** Also has errors go to the handler of the communicator. The mode is standard. */
static inline int __attribute__((always_inline))
weft_check_send(weft_call_t *call, const weft_user_message_t *user, weft_send_args_t *out)
{
    weft_comm_t *comm;
    weft_type_t *type = weft_type_of(user->datatype);
    int err = weft_check_live_comm(call, user->comm, &comm);
    if (err == MPI_SUCCESS && __builtin_expect(weft_config.CHECK_ARGS, 1))
        err = weft_check_message(user, comm, false, &weft_message_send_names, &type);
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
    if (err == MPI_SUCCESS && __builtin_expect(weft_config.CHECK_ARGS, 1))
        err = weft_check_message(user, comm, true, &weft_message_recv_names, &type);
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

#endif
