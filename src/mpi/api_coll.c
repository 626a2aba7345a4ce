/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data from or to one rank, and barriers (MPI 5.0, sections 6.3
 * to 6.6, 6.12). */
#include "mpi/api.h"

#include "mpi/coll_call.h"

/* A side that is not significant on this rank, and one that is MPI_IN_PLACE. */
static const weft_coll_side_t no_side;
static const weft_coll_side_t in_place = {.buf = MPI_IN_PLACE};

/* ---- barrier ---- */

static WEFT_COLL_INLINE int settle_barrier(weft_coll_call_t *user, weft_comm_t *comm,
                                           weft_coll_args_t *args)
{
    weft_coll_fill(user, comm, args);
    return MPI_SUCCESS;
}

const weft_settle_fn_t weft_settle_barrier = settle_barrier;

/** Returns when all ranks of comm have called it (section 6.3). On an intercommunicator a rank
 *  returns when all ranks of the other group have called it.
 *  @note All collectives of a communicator must be called by all its ranks, in the same order.
 *      WEFT_CHECK=collectives compares the calls of all ranks, and names those that differ.
 *  @see MPI_Bcast, MPI_Allreduce */
WEFT_API(MPI_Barrier);
int PMPI_Barrier(MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_BARRIER, .name = "MPI_Barrier", .comm = comm},
        settle_barrier);
}

/** Puts a barrier into the CUDA stream of comm, and returns at once (mpix.h). The stream goes on
 *  when the streams of all ranks have come to the barrier. While it is captured the barrier becomes
 *  part of the graph.
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note If the operation fails, a thread of Weft calls the error handler of comm. With
 *      MPI_ERRORS_RETURN, the next enqueued call on the stream returns the error, and does nothing
 *      else.
 *  @see MPIX_Stream_comm_create, MPI_Barrier */
WEFT_API(MPIX_Barrier_enqueue);
int PMPIX_Barrier_enqueue(MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_BARRIER,
                                               .name = "MPIX_Barrier_enqueue",
                                               .comm = comm,
                                               .form = WEFT_ENQUEUED},
                           settle_barrier);
}

/* ---- bcast ---- */

static WEFT_COLL_INLINE int settle_bcast(weft_coll_call_t *user, weft_comm_t *comm,
                                         weft_coll_args_t *args)
{
    int err = MPI_SUCCESS;
    if (__builtin_expect(weft_config.CHECK_ARGS, 1)) {
        err = weft_check_root(comm, user->root);
        if (err == MPI_SUCCESS)
            err = weft_check_side(&user->send, &weft_bcast_names, comm);
    }
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_bcast = settle_bcast;

/** Gives all ranks of comm the data that the root has in its buffer (section 6.4). On an
 *  intercommunicator the ranks of the other group get the data of the root. A rank may return
 *  before others have the data.
 *  @param[in,out] buffer  at the root what is sent, elsewhere what is received; host or device
 *      memory, which may differ between ranks
 *  @param[in] count  elements of buffer; with datatype the same number of bytes on all ranks
 *  @param[in] root  the rank that sends; on an intercommunicator MPI_ROOT at the root,
 *      MPI_PROC_NULL at the other ranks of its group, and the rank of the root in the other group
 *  @error MPI_ERR_TRUNCATE  the root sends more than this rank has room for
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Scatter, MPI_Barrier */
WEFT_API(MPI_Bcast_c);
int PMPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_BCAST,
                                               .name = "MPI_Bcast",
                                               .comm = comm,
                                               .root = root,
                                               .send = weft_block(buffer, count, datatype)},
                           settle_bcast);
}

/** Puts an MPI_Bcast into the CUDA stream of comm, and returns at once (mpix.h). It begins when the
 *  stream has done what was put into it before, and the stream goes on when it is over; buffer must
 *  not be touched in between.
 *  @copydoc MPIX_Barrier_enqueue
 *  @param[in,out] buffer  at the root what is sent, elsewhere what is received
 *  @param[in] count  elements of buffer; with datatype the same number of bytes on all ranks
 *  @see MPI_Bcast, MPIX_Stream_comm_create */
WEFT_API(MPIX_Bcast_enqueue);
int PMPIX_Bcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_BCAST,
                                               .name = "MPIX_Bcast_enqueue",
                                               .comm = comm,
                                               .root = root,
                                               .send = weft_block(buffer, count, datatype),
                                               .form = WEFT_ENQUEUED},
                           settle_bcast);
}

/* ---- gather ---- */

static WEFT_COLL_INLINE int check_gather(const weft_coll_call_t *user, const weft_comm_t *comm)
{
    bool is_root = comm->rank == user->root,
         is_in_place = is_root && user->send.buf == MPI_IN_PLACE;
    int err = weft_check_root(comm, user->root);
    if (err == MPI_SUCCESS && !is_in_place)
        err = weft_check_side(&user->send, &weft_send_names, comm);
    if (err == MPI_SUCCESS && is_root)
        err = weft_check_side(&user->recv, &weft_recv_names, comm);
    if (err == MPI_SUCCESS && is_root && !is_in_place)
        err = weft_check_own_block(user, comm);
    return err;
}

static WEFT_COLL_INLINE int settle_gather(weft_coll_call_t *user, weft_comm_t *comm,
                                          weft_coll_args_t *args)
{
    int err = weft_config.CHECK_ARGS ? check_gather(user, comm) : MPI_SUCCESS;
    if (comm->rank != user->root)
        user->recv = no_side;
    else if (user->send.buf == MPI_IN_PLACE)
        user->send = in_place;
    if (err == MPI_SUCCESS)
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_gather = settle_gather;

/** Collects a block of each rank at the root, in the order of ranks (section 6.5). On an
 *  intercommunicator the root collects the blocks of the other group.
 *  @param[in] sendbuf  sendcount elements; MPI_IN_PLACE at the root: its block is in recvbuf
 *      already
 *  @param[out] recvbuf  at the root room for a block of each rank; elsewhere not looked at
 *  @param[in] recvcount  the elements of one block, not of all; with recvtype as many bytes as each
 *      rank sends
 *  @param[in] root  the rank that collects; on an intercommunicator MPI_ROOT at the root,
 *      MPI_PROC_NULL at the other ranks of its group, and the rank of the root in the other group
 *  @error MPI_ERR_TRUNCATE  a rank sends more than the root has room for, or the root sends itself
 *      another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed at another rank than the root, for recvbuf, or on
 *      an intercommunicator; or sendbuf and recvbuf are the same at the root
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Gatherv, MPI_Allgather, MPI_Scatter */
WEFT_API(MPI_Gather_c);
int PMPI_Gather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_GATHER,
                                               .name = "MPI_Gather",
                                               .comm = comm,
                                               .root = root,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_gather);
}

/** Collects blocks of different lengths at the root, which go to any places there (section 6.5).
 *  @param[in] sendbuf  sendcount elements; MPI_IN_PLACE at the root: its block is in recvbuf
 *      already
 *  @param[out] recvbuf  at the root room for all blocks, which must not overlap; elsewhere not
 *      looked at
 *  @param[in] recvcounts  at the root the elements of the block of each rank; elsewhere not looked
 *      at
 *  @param[in] displs  at the root where the block of each rank goes, from the beginning of recvbuf,
 *      in extents of recvtype; elsewhere not looked at
 *  @param[in] root  the rank that collects; on an intercommunicator as in MPI_Gather
 *  @error MPI_ERR_TRUNCATE  a rank sends more than the root has room for, or the root sends itself
 *      another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed at another rank than the root, for recvbuf, or on
 *      an intercommunicator
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The arrays of MPI_Igatherv must not be changed until the request is complete, those of
 *      MPI_Gatherv_init until it is freed.
 *  @see MPI_Gather, MPI_Allgatherv, MPI_Scatterv */
WEFT_API(MPI_Gatherv);
int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_GATHERV,
                            .name = "MPI_Gatherv",
                            .comm = comm,
                            .root = root,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices(recvbuf, recvcounts, displs, recvtype)},
        settle_gather);
}

WEFT_API(MPI_Gatherv_c);
int PMPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                   int root, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_GATHERV,
                            .name = "MPI_Gatherv",
                            .comm = comm,
                            .root = root,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices_c(recvbuf, recvcounts, displs, recvtype)},
        settle_gather);
}

/* ---- scatter ---- */

static WEFT_COLL_INLINE int check_scatter(const weft_coll_call_t *user, const weft_comm_t *comm)
{
    bool is_root = comm->rank == user->root,
         is_in_place = is_root && user->recv.buf == MPI_IN_PLACE;
    int err = weft_check_root(comm, user->root);
    if (err == MPI_SUCCESS && !is_in_place)
        err = weft_check_side(&user->recv, &weft_recv_names, comm);
    if (err == MPI_SUCCESS && is_root)
        err = weft_check_side(&user->send, &weft_send_names, comm);
    if (err == MPI_SUCCESS && is_root && !is_in_place)
        err = weft_check_own_block(user, comm);
    return err;
}

static WEFT_COLL_INLINE int settle_scatter(weft_coll_call_t *user, weft_comm_t *comm,
                                           weft_coll_args_t *args)
{
    int err = weft_config.CHECK_ARGS ? check_scatter(user, comm) : MPI_SUCCESS;
    if (comm->rank != user->root)
        user->send = no_side;
    else if (user->recv.buf == MPI_IN_PLACE)
        user->recv = in_place;
    if (err == MPI_SUCCESS)
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_scatter = settle_scatter;

/** Gives each rank its block of the data that the root has, in the order of ranks (section 6.6). On
 *  an intercommunicator the ranks of the other group get the blocks.
 *  @param[in] sendbuf  at the root a block for each rank; elsewhere not looked at
 *  @param[in] sendcount  the elements of one block, not of all; with sendtype as many bytes as each
 *      rank receives
 *  @param[out] recvbuf  recvcount elements; MPI_IN_PLACE at the root: its block stays in sendbuf
 *  @param[in] root  the rank that has the data; on an intercommunicator MPI_ROOT at the root,
 *      MPI_PROC_NULL at the other ranks of its group, and the rank of the root in the other group
 *  @error MPI_ERR_TRUNCATE  the root sends more than this rank has room for, or itself another
 *      number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed at another rank than the root, for sendbuf, or on
 *      an intercommunicator; or sendbuf and recvbuf are the same at the root
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Scatterv, MPI_Gather, MPI_Bcast */
WEFT_API(MPI_Scatter_c);
int PMPI_Scatter_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_SCATTER,
                                               .name = "MPI_Scatter",
                                               .comm = comm,
                                               .root = root,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_scatter);
}

/** Gives each rank a block of its own length, from any place of the data that the root has
 *  (section 6.6).
 *  @param[in] sendbuf  at the root the data; elsewhere not looked at
 *  @param[in] sendcounts  at the root the elements of the block for each rank; elsewhere not looked
 *      at
 *  @param[in] displs  at the root where the block for each rank begins, from the beginning of
 *      sendbuf, in extents of sendtype; elsewhere not looked at
 *  @param[out] recvbuf  recvcount elements; MPI_IN_PLACE at the root: its block stays in sendbuf
 *  @param[in] root  the rank that has the data; on an intercommunicator as in MPI_Scatter
 *  @error MPI_ERR_TRUNCATE  the root sends more than this rank has room for, or itself another
 *      number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed at another rank than the root, for sendbuf, or on
 *      an intercommunicator
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The arrays of MPI_Iscatterv must not be changed until the request is complete, those of
 *      MPI_Scatterv_init until it is freed.
 *  @see MPI_Scatter, MPI_Gatherv */
WEFT_API(MPI_Scatterv);
int PMPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_SCATTERV,
                            .name = "MPI_Scatterv",
                            .comm = comm,
                            .root = root,
                            .send = weft_slices(sendbuf, sendcounts, displs, sendtype),
                            .recv = weft_block(recvbuf, recvcount, recvtype)},
        settle_scatter);
}

WEFT_API(MPI_Scatterv_c);
int PMPI_Scatterv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_SCATTERV,
                            .name = "MPI_Scatterv",
                            .comm = comm,
                            .root = root,
                            .send = weft_slices_c(sendbuf, sendcounts, displs, sendtype),
                            .recv = weft_block(recvbuf, recvcount, recvtype)},
        settle_scatter);
}
