/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of collectives on intercommunicators (MPI 5.0 section 6.2.3). In those with a root,
 * the root passes MPI_ROOT, the others of its group MPI_PROC_NULL, and the other group the root's
 * rank. MPI_IN_PLACE is not allowed.
 */
#include "mpi/coll_call.h"

#include "base/fail.h"

/* Which sides matter at a rank, by its part in the collective. */
typedef struct inter_form {
    bool has_root;
    bool root_sends, root_receives, others_send, others_receive;
} inter_form_t;

static const inter_form_t inter_forms[WEFT_COLLS] = {
    [WEFT_BCAST] = {.has_root = true, .root_sends = true, .others_send = true},
    [WEFT_GATHER] = {.has_root = true, .root_receives = true, .others_send = true},
    [WEFT_GATHERV] = {.has_root = true, .root_receives = true, .others_send = true},
    [WEFT_SCATTER] = {.has_root = true, .root_sends = true, .others_receive = true},
    [WEFT_SCATTERV] = {.has_root = true, .root_sends = true, .others_receive = true},
    [WEFT_ALLGATHER] = {.others_send = true, .others_receive = true},
    [WEFT_ALLGATHERV] = {.others_send = true, .others_receive = true},
    [WEFT_ALLTOALL] = {.others_send = true, .others_receive = true},
    [WEFT_ALLTOALLV] = {.others_send = true, .others_receive = true},
    [WEFT_ALLTOALLW] = {.others_send = true, .others_receive = true},
    [WEFT_REDUCE] = {.has_root = true, .root_receives = true, .others_send = true},
    [WEFT_ALLREDUCE] = {.others_send = true, .others_receive = true},
    [WEFT_REDUCE_SCATTER] = {.others_send = true, .others_receive = true},
    [WEFT_REDUCE_SCATTER_BLOCK] = {.others_send = true, .others_receive = true},
};

typedef struct inter_part {
    bool sends, receives;
} inter_part_t;

static inter_part_t part_of(const weft_coll_call_t *user)
{
    const inter_form_t *form = &inter_forms[user->coll];
    if (!form->has_root || user->root >= 0)
        return (inter_part_t){form->others_send, form->others_receive};
    bool is_root = user->root == MPI_ROOT;
    return (inter_part_t){is_root && form->root_sends, is_root && form->root_receives};
}

static int check_inter_root(const weft_coll_call_t *user, const weft_comm_t *inter)
{
    int root = user->root;
    if (!inter_forms[user->coll].has_root || root == MPI_ROOT || root == MPI_PROC_NULL ||
        (root >= 0 && root < inter->size))
        return MPI_SUCCESS;
    return weft_fail(
        MPI_ERR_ROOT,
        "root is %d, but must be MPI_ROOT, MPI_PROC_NULL or a rank of the remote group "
        "of %s, 0 to %d",
        root, weft_comm_label(inter), inter->size - 1);
}

/* ---- reductions: the receiving side has count and type of both buffers ---- */

static int count_operand(const weft_coll_call_t *user, const weft_comm_t *inter, MPI_Count *out)
{
    int members = inter->group->size;
    if (user->coll == WEFT_REDUCE_SCATTER)
        return weft_check_recvcounts(user->recv.counts, members, out);
    bool has_blocks = user->coll == WEFT_REDUCE_SCATTER_BLOCK;
    int err = weft_check_count(user->recv.count, has_blocks ? "recvcount" : "count");
    if (__builtin_mul_overflow(user->recv.count, has_blocks ? members : 1, out))
        *out = INT64_MAX; /* the check of the buffer refuses it */
    return err;
}

static int check_result_buffer(const weft_coll_call_t *user, const weft_comm_t *inter,
                               const weft_type_t *type)
{
    MPI_Count count = user->coll == WEFT_REDUCE_SCATTER
                          ? weft_count_at(user->recv.counts, (size_t)inter->rank)
                          : user->recv.count;
    return weft_check_place(user->recv.buf, count, type, "recvbuf");
}

static int check_inter_reduction(const weft_coll_call_t *user, const weft_comm_t *inter)
{
    inter_part_t part = part_of(user);
    weft_type_t *type;
    weft_op_t *op;
    MPI_Count count;
    int err = count_operand(user, inter, &count);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(user->recv.type, "datatype", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_op(user->op, &op);
    if (err == MPI_SUCCESS)
        err = weft_op_check(op, type);
    if (err == MPI_SUCCESS && part.sends)
        err = weft_check_place(user->send.buf, count, type, "sendbuf");
    if (err == MPI_SUCCESS && part.receives)
        err = check_result_buffer(user, inter, type);
    if (err == MPI_SUCCESS && part.sends && part.receives && count > 0 && type->size > 0 &&
        user->send.buf == user->recv.buf && user->send.buf != MPI_BOTTOM)
        err = weft_bad_alias();
    return err;
}

/* ---- moves ---- */

static int check_inter_moves(const weft_coll_call_t *user, const weft_comm_t *inter)
{
    bool is_alltoall = user->coll >= WEFT_ALLTOALL && user->coll <= WEFT_ALLTOALLW;
    const weft_side_names_t *send_names = user->coll == WEFT_BCAST ? &weft_bcast_names
                                          : is_alltoall            ? &weft_alltoall_send_names
                                                                   : &weft_send_names;
    const weft_side_names_t *recv_names =
        is_alltoall ? &weft_alltoall_recv_names : &weft_recv_names;
    inter_part_t part = part_of(user);
    int err = part.sends ? weft_check_layout(&user->send, send_names, inter->size) : MPI_SUCCESS;
    if (err == MPI_SUCCESS && part.receives)
        err = weft_check_layout(&user->recv, recv_names, inter->size);
    return err;
}

/* ---- both ---- */

static bool reduces(weft_coll_t coll)
{
    return coll >= WEFT_REDUCE && coll <= WEFT_REDUCE_SCATTER_BLOCK;
}

static int check_inter_call(const weft_coll_call_t *user, const weft_comm_t *inter)
{
    int err = check_inter_root(user, inter);
    if (err != MPI_SUCCESS || user->coll == WEFT_BARRIER)
        return err;
    if (inter_forms[user->coll].has_root && user->root == MPI_PROC_NULL)
        return MPI_SUCCESS; /* nothing else matters */
    return reduces(user->coll) ? check_inter_reduction(user, inter)
                               : check_inter_moves(user, inter);
}

/* The root as a rank of the union. */
static int root_in_union(const weft_coll_call_t *user, const weft_comm_t *inter)
{
    if (user->root == MPI_ROOT)
        return inter->both->rank;
    return user->root < 0 ? MPI_PROC_NULL : weft_comm_remote_in_union(inter, user->root);
}

/* Arguments that do not matter may have any value. */
static void drop_unused(weft_coll_call_t *user)
{
    static const weft_coll_side_t nothing;
    inter_part_t part = part_of(user);
    if (!part.sends)
        user->send = nothing;
    if (part.receives)
        return;
    if (reduces(user->coll) && part.sends)
        user->recv.buf = NULL;
    else
        user->recv = nothing;
}

int weft_settle_inter(weft_coll_call_t *user, weft_comm_t *inter, weft_coll_args_t *args)
{
    int err = MPI_SUCCESS;
    if (weft_coll_is_neighbor(user->coll))
        return weft_fail(MPI_ERR_TOPOLOGY, "%s has no topology", weft_comm_label(inter));
    if (user->coll == WEFT_SCAN || user->coll == WEFT_EXSCAN)
        return weft_fail(MPI_ERR_COMM, "%s is an intercommunicator, on which there are no scans",
                         weft_comm_label(inter));
    if (weft_config.CHECK_ARGS)
        err = check_inter_call(user, inter);
    drop_unused(user);
    if (err != MPI_SUCCESS)
        return err;
    weft_coll_fill(user, inter->both, args);
    args->inter = inter;
    args->root = root_in_union(user, inter);
    return MPI_SUCCESS;
}
