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
