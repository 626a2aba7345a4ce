/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data from all ranks to all (MPI 5.0, sections 6.7, 6.8 and 6.12). */
#include "mpi/api.h"

#include "mpi/coll_call.h"

static const weft_coll_side_t in_place = {.buf = MPI_IN_PLACE};

static WEFT_COLL_INLINE int check_sides(const weft_coll_call_t *user,
                                        const weft_side_names_t *send_names,
                                        const weft_side_names_t *recv_names,
                                        const weft_comm_t *comm)
{
    bool is_in_place = user->send.buf == MPI_IN_PLACE;
    int err = is_in_place ? MPI_SUCCESS : weft_check_side(&user->send, send_names, comm);
    if (err == MPI_SUCCESS)
        err = weft_check_side(&user->recv, recv_names, comm);
    if (err == MPI_SUCCESS && !is_in_place)
        err = weft_check_own_block(user, comm);
    return err;
}

/* ---- allgather ---- */

static WEFT_COLL_INLINE int settle_allgather(weft_coll_call_t *user, weft_comm_t *comm,
                                             weft_coll_args_t *args)
{
    int err = MPI_SUCCESS;
    if (weft_config.CHECK_ARGS)
        err = check_sides(user, &weft_send_names, &weft_recv_names, comm);
    if (user->send.buf == MPI_IN_PLACE)
        user->send = in_place;
    if (err == MPI_SUCCESS)
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_allgather = settle_allgather;

/** Gives all ranks a block of each rank, in the order of ranks (section 6.7). On an
 *  intercommunicator the ranks of each group get the blocks of the other.
 *  @param[in] sendbuf  sendcount elements; MPI_IN_PLACE on all ranks: each has its block in its
 *      place in recvbuf, and sendcount and sendtype do not matter; not on an intercommunicator
 *  @param[out] recvbuf  room for a block of each rank
 *  @param[in] recvcount  the elements of one block, not of all; with recvtype as many bytes as each
 *      rank sends
 *  @error MPI_ERR_TRUNCATE  another rank sends more than recvcount elements, or this one sends
 *      itself another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator; or
 *      sendbuf and recvbuf are the same
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Allgatherv, MPI_Gather, MPI_Alltoall */
WEFT_API(MPI_Allgather_c);
int PMPI_Allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLGATHER,
                                               .name = "MPI_Allgather",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_allgather);
}

/** Puts an MPI_Allgather into the CUDA stream of comm, and returns at once (mpix.h). It begins when
 *  the stream has done what was put into it before, and the stream goes on when it is over; the
 *  buffers must not be touched in between.
 *  @copydoc MPI_Allgather
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note Errors of the operation are reported as for MPIX_Barrier_enqueue.
 *  @see MPI_Allgather, MPIX_Stream_comm_create */
WEFT_API(MPIX_Allgather_enqueue);
int PMPIX_Allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLGATHER,
                                               .name = "MPIX_Allgather_enqueue",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype),
                                               .form = WEFT_ENQUEUED},
                           settle_allgather);
}

/** Gives all ranks the blocks of all ranks, which may have different lengths and go to any places
 *  (section 6.7).
 *  @param[in] sendbuf  sendcount elements; MPI_IN_PLACE on all ranks: each has its block in its
 *      place in recvbuf, and sendcount and sendtype do not matter; not on an intercommunicator
 *  @param[out] recvbuf  room for all blocks, which must not overlap
 *  @param[in] recvcounts  the elements of the block of each rank (on an intercommunicator, of the
 *      other group); the same on all ranks that receive them
 *  @param[in] displs  where the block of each rank goes, from the beginning of recvbuf, in extents
 *      of recvtype
 *  @error MPI_ERR_TRUNCATE  another rank sends more than its block has room for, or this one sends
 *      itself another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The arrays of MPI_Iallgatherv must not be changed until the request is complete, those of
 *      MPI_Allgatherv_init until it is freed.
 *  @see MPI_Allgather, MPI_Gatherv */
WEFT_API(MPI_Allgatherv);
int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLGATHERV,
                            .name = "MPI_Allgatherv",
                            .comm = comm,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices(recvbuf, recvcounts, displs, recvtype)},
        settle_allgather);
}

WEFT_API(MPI_Allgatherv_c);
int PMPI_Allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                      MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLGATHERV,
                            .name = "MPI_Allgatherv",
                            .comm = comm,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices_c(recvbuf, recvcounts, displs, recvtype)},
        settle_allgather);
}

/* ---- alltoall ---- */

static WEFT_COLL_INLINE int settle_alltoall(weft_coll_call_t *user, weft_comm_t *comm,
                                            weft_coll_args_t *args)
{
    int err = MPI_SUCCESS;
    if (weft_config.CHECK_ARGS)
        err = check_sides(user, &weft_alltoall_send_names, &weft_alltoall_recv_names, comm);
    if (user->send.buf == MPI_IN_PLACE)
        user->send = in_place;
    if (err == MPI_SUCCESS)
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_alltoall = settle_alltoall;

/** Sends a block to each rank and receives one from each (section 6.8). Block i of sendbuf goes to
 *  rank i, and the block of rank i goes to place i of recvbuf. On an intercommunicator the blocks
 *  go to and come from the other group.
 *  @param[in] sendbuf  a block for each rank; MPI_IN_PLACE on all ranks: the blocks are in recvbuf,
 *      where those received replace them, and sendcount and sendtype do not matter; not on an
 *      intercommunicator
 *  @param[in] sendcount  the elements of one block, not of all
 *  @param[out] recvbuf  room for a block of each rank
 *  @param[in] recvcount  the elements of one block, not of all; with recvtype as many bytes as each
 *      rank sends
 *  @error MPI_ERR_TRUNCATE  another rank sends more than recvcount elements, or this one sends
 *      itself another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator; or
 *      sendbuf and recvbuf are the same
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @see MPI_Alltoallv, MPI_Alltoallw, MPI_Allgather */
WEFT_API(MPI_Alltoall_c);
int PMPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                    MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLTOALL,
                                               .name = "MPI_Alltoall",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_alltoall);
}

/** Puts an MPI_Alltoall into the CUDA stream of comm, and returns at once (mpix.h). It begins when
 *  the stream has done what was put into it before, and the stream goes on when it is over; the
 *  buffers must not be touched in between.
 *  @copydoc MPI_Alltoall
 *  @param[in] comm  made by MPIX_Stream_comm_create with the stream of a device
 *  @error MPI_ERR_COMM  comm is no communicator or has no stream, its stream belongs to no device,
 *      or MPIX_Stream_free has freed it
 *  @note Errors of the operation are reported as for MPIX_Barrier_enqueue.
 *  @see MPI_Alltoall, MPIX_Stream_comm_create */
WEFT_API(MPIX_Alltoall_enqueue);
int PMPIX_Alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                           int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_ALLTOALL,
                                               .name = "MPIX_Alltoall_enqueue",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype),
                                               .form = WEFT_ENQUEUED},
                           settle_alltoall);
}

/** Sends a block to each rank and receives one from each, with a length and a place for each of
 *  them (section 6.8). On an intercommunicator the blocks go to and come from the other group, and
 *  the arrays have an entry for each rank there.
 *  @param[in] sendbuf  the data; MPI_IN_PLACE on all ranks: the blocks are in recvbuf, where those
 *      received replace them, and the other arguments of sending do not matter; not on an
 *      intercommunicator
 *  @param[in] sendcounts  the elements for each rank
 *  @param[in] sdispls  where the block for each rank begins, from the beginning of sendbuf, in
 *      extents of sendtype
 *  @param[in] recvcounts  the elements from each rank; with recvtype as many bytes as that rank
 *      sends
 *  @param[in] rdispls  where the block of each rank goes, from the beginning of recvbuf, in extents
 *      of recvtype
 *  @error MPI_ERR_TRUNCATE  another rank sends more than its block has room for, or this one sends
 *      itself another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The arrays of MPI_Ialltoallv must not be changed until the request is complete, those of
 *      MPI_Alltoallv_init until it is freed.
 *  @see MPI_Alltoall, MPI_Alltoallw */
WEFT_API(MPI_Alltoallv);
int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLTOALLV,
                            .name = "MPI_Alltoallv",
                            .comm = comm,
                            .send = weft_slices(sendbuf, sendcounts, sdispls, sendtype),
                            .recv = weft_slices(recvbuf, recvcounts, rdispls, recvtype)},
        settle_alltoall);
}

WEFT_API(MPI_Alltoallv_c);
int PMPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLTOALLV,
                            .name = "MPI_Alltoallv",
                            .comm = comm,
                            .send = weft_slices_c(sendbuf, sendcounts, sdispls, sendtype),
                            .recv = weft_slices_c(recvbuf, recvcounts, rdispls, recvtype)},
        settle_alltoall);
}

/** Sends a block to each rank and receives one from each, with a length, a place and a datatype for
 *  each of them (section 6.8). On an intercommunicator the blocks go to and come from the other
 *  group, and the arrays have an entry for each rank there.
 *  @param[in] sendbuf  the data; MPI_IN_PLACE on all ranks: the blocks are in recvbuf, where those
 *      received replace them, and the other arguments of sending do not matter; not on an
 *      intercommunicator
 *  @param[in] sendcounts  the elements for each rank
 *  @param[in] sdispls  where the block for each rank begins, from the beginning of sendbuf, in
 *      bytes
 *  @param[in] sendtypes  the datatype of the elements for each rank; any, MPI_DATATYPE_NULL too,
 *      where the count is 0
 *  @param[in] recvcounts  the elements from each rank; with the datatype as many bytes as that rank
 *      sends
 *  @param[in] rdispls  where the block of each rank goes, from the beginning of recvbuf, in bytes
 *  @param[in] recvtypes  the datatype of the elements from each rank; any, MPI_DATATYPE_NULL too,
 *      where the count is 0
 *  @error MPI_ERR_TRUNCATE  another rank sends more than its block has room for, or this one sends
 *      itself another number of bytes than it receives
 *  @error MPI_ERR_BUFFER  MPI_IN_PLACE is passed for recvbuf, or on an intercommunicator
 *  @error MPI_ERR_OTHER  another rank has ended or cannot be reached
 *  @note The arrays of MPI_Ialltoallw must not be changed until the request is complete, those of
 *      MPI_Alltoallw_init until it is freed.
 *  @see MPI_Alltoallv, MPI_Neighbor_alltoallw */
WEFT_API(MPI_Alltoallw);
int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLTOALLW,
                            .name = "MPI_Alltoallw",
                            .comm = comm,
                            .send = weft_pieces(sendbuf, sendcounts, sdispls, sendtypes),
                            .recv = weft_pieces(recvbuf, recvcounts, rdispls, recvtypes)},
        settle_alltoall);
}

WEFT_API(MPI_Alltoallw_c);
int PMPI_Alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_ALLTOALLW,
                            .name = "MPI_Alltoallw",
                            .comm = comm,
                            .send = weft_pieces_c(sendbuf, sendcounts, sdispls, sendtypes),
                            .recv = weft_pieces_c(recvbuf, recvcounts, rdispls, recvtypes)},
        settle_alltoall);
}
