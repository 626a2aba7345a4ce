/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/message_call.h"

const weft_message_names_t weft_message_send_names = {"buf", "count", "datatype", "dest", "tag"},
                           weft_message_recv_names = {"buf", "count", "datatype", "source", "tag"};

/* Nothing goes to or comes from MPI_PROC_NULL: programs leave the type out there. */
static int check_no_type(const weft_user_message_t *user, const char *name, weft_type_t **out)
{
    if (user->peer != MPI_PROC_NULL || user->count != 0 || user->datatype != MPI_DATATYPE_NULL)
        return weft_bad_type(user->datatype, name);
    *out = weft_type_of(MPI_BYTE);
    return MPI_SUCCESS;
}

static int check_type(const weft_user_message_t *user, bool is_recv, const char *name,
                      weft_type_t **type)
{
    if (*type == NULL)
        return check_no_type(user, name, type);
    bool is_usable = is_recv ? (*type)->can_receive : (*type)->is_committed;
    return is_usable ? MPI_SUCCESS : weft_unusable_type(*type, user->count, name);
}

int weft_check_message(const weft_user_message_t *user, const weft_comm_t *comm, bool is_recv,
                       const weft_message_names_t *names, weft_type_t **type)
{
    int err = weft_check_count(user->count, names->count);
    if (err == MPI_SUCCESS)
        err = check_type(user, is_recv, names->datatype, type);
    if (err == MPI_SUCCESS)
        err = weft_check_rank(comm, user->peer, is_recv, names->peer);
    if (err == MPI_SUCCESS)
        err = weft_check_tag(user->tag, is_recv, names->tag);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(user->buf, user->count, *type, names->buf);
    return err;
}

bool weft_lock_for_dense(void)
{
    if (weft_world.stage != WEFT_RUNNING || !weft_world.is_threaded || weft_world.is_watchful)
        return false;
    weft_lock_take();
    return true;
}

int weft_recv_any(const char *name, const weft_user_message_t *user, MPI_Status *status)
{
    weft_call_t call = weft_call_begin(name);
    weft_recv_args_t args;
    int err = weft_check_recv(&call, user, &args);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = weft_recv(&args, status);
    return weft_call_end(&call, err);
}

static int recv_with_all(const char *name, const weft_user_message_t *user, MPI_Status *status)
{
    weft_dense_message_t message;
    if (!weft_begin_dense(user, true, &message))
        return weft_recv_any(name, user, status);
    int err = weft_recv_here((void *)user->buf, message, user->peer, user->tag, status);
    return weft_end_dense(name, message.comm, err);
}

int weft_recv_by_vci(const char *name, const weft_user_message_t *user,
                     weft_dense_message_t message, MPI_Status *status)
{
    if (weft_vci_recv_now((void *)user->buf, message, user->peer, user->tag, status))
        return MPI_SUCCESS;
    weft_request_t *request = weft_vci_recv((void *)user->buf, message, user->peer, user->tag);
    if (request == NULL)
        return recv_with_all(name, user, status);
    MPI_Request handle = weft_request_handle(request);
    if (weft_vci_wait(1, &handle, status) > 0)
        return MPI_SUCCESS;
    weft_call_t call = weft_call_begin(name);
    call.comm = message.comm;
    weft_vci_block(request);
    return weft_call_end(&call, weft_request_finish(request, status));
}
