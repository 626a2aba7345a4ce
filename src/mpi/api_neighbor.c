/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives, blocking and nonblocking (MPI 5.0, sections 8.6 and 8.7). */
#include "mpi/api.h"

#include "mpi/coll_call.h"
#include "object/topology.h"
#include "base/fail.h"

/* A side without neighbours is not looked at: its buffer may be NULL. */
static int check_neighbors(const weft_coll_call_t *user, const weft_comm_t *comm)
{
    bool gathers = user->coll == WEFT_NEIGHBOR_ALLGATHER || user->coll == WEFT_NEIGHBOR_ALLGATHERV;
    int sources = weft_topology_sources(comm->topology, comm->rank), err = MPI_SUCCESS;
    int destinations = weft_topology_destinations(comm->topology, comm->rank);
    if (destinations > 0)
        err = weft_check_layout(&user->send, &weft_alltoall_send_names, destinations);
    if (err == MPI_SUCCESS && sources > 0)
        err = weft_check_layout(&user->recv, gathers ? &weft_recv_names : &weft_alltoall_recv_names,
                                sources);
    return err;
}

static int settle_neighbor(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args)
{
    int err = MPI_SUCCESS;
    if (comm->topology == NULL)
        return weft_fail(MPI_ERR_TOPOLOGY, "%s has no topology", weft_comm_label(comm));
    if (weft_config.CHECK_ARGS)
        err = check_neighbors(user, comm);
    if (err == MPI_SUCCESS)
        weft_coll_fill(user, comm, args);
    return err;
}

const weft_settle_fn_t weft_settle_neighbor = settle_neighbor;

/* ---- allgather ---- */

/** Sends the same block to each neighbour in the topology of comm, and receives one from each
 *  (section 8.6.1). Block i of recvbuf is that of neighbour i, in the order of
 *  MPI_Dist_graph_neighbors or MPI_Graph_neighbors; in a grid, for each dimension the one below and
 *  then the one above. All ranks of comm call it. recvcount counts the elements of one block, not
 *  of all.
 *  @param[in] sendbuf  sendcount elements; not looked at if this rank sends to nobody
 *  @param[out] recvbuf  room for a block of each neighbour; where a grid has no neighbour
 *      (MPI_PROC_NULL) it stays as it is
 *  @error MPI_ERR_TOPOLOGY  comm has no topology
 *  @error MPI_ERR_BUFFER  a buffer is MPI_IN_PLACE
 *  @error MPI_ERR_TRUNCATE  a neighbour sends more than there is room for
 *  @error MPI_ERR_OTHER  a neighbour has ended or cannot be reached
 *  @see MPI_Neighbor_allgatherv, MPI_Neighbor_alltoall, MPI_Cart_create,
 *      MPI_Dist_graph_create_adjacent */
WEFT_API(MPI_Neighbor_allgather_c);
int PMPI_Neighbor_allgather_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLGATHER,
                                               .name = "MPI_Neighbor_allgather",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_neighbor);
}

/* ---- allgatherv ---- */

/** Sends the same block to each neighbour, and receives from each a block of its own length, which
 *  goes to any place (section 8.6.1).
 *  @copydoc MPI_Neighbor_allgather
 *  @param[in] recvcounts  the elements from each neighbour
 *  @param[in] displs  where the block of each neighbour goes, from the beginning of recvbuf, in
 *      extents of recvtype
 *  @note The arrays of MPI_Ineighbor_allgatherv must not be changed until the request is complete,
 *      those of MPI_Neighbor_allgatherv_init until it is freed.
 *  @see MPI_Neighbor_allgather */
WEFT_API(MPI_Neighbor_allgatherv);
int PMPI_Neighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const int recvcounts[], const int displs[],
                             MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLGATHERV,
                            .name = "MPI_Neighbor_allgatherv",
                            .comm = comm,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices(recvbuf, recvcounts, displs, recvtype)},
        settle_neighbor);
}

WEFT_API(MPI_Neighbor_allgatherv_c);
int PMPI_Neighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
                               MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLGATHERV,
                            .name = "MPI_Neighbor_allgatherv",
                            .comm = comm,
                            .send = weft_block(sendbuf, sendcount, sendtype),
                            .recv = weft_slices_c(recvbuf, recvcounts, displs, recvtype)},
        settle_neighbor);
}

/* ---- alltoall ---- */

/** Sends a block of its own to each neighbour in the topology of comm, and receives one from each
 *  (section 8.6.2). The order of the blocks is as for MPI_Neighbor_allgather. All ranks of comm
 *  call it.
 *  @copydoc MPI_Neighbor_allgather
 *  @param[in] sendbuf  a block for each neighbour that this rank sends to; not looked at if there
 *      is none
 *  @param[in] sendcount  the elements of one block, not of all
 *  @see MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallw, MPI_Neighbor_allgather */
WEFT_API(MPI_Neighbor_alltoall_c);
int PMPI_Neighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                             MPI_Comm comm)
{
    return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLTOALL,
                                               .name = "MPI_Neighbor_alltoall",
                                               .comm = comm,
                                               .send = weft_block(sendbuf, sendcount, sendtype),
                                               .recv = weft_block(recvbuf, recvcount, recvtype)},
                           settle_neighbor);
}

/* ---- alltoallv ---- */

/** Sends a block of its own to each neighbour, and receives one from each, with a length and a
 *  place for each of them (section 8.6.2).
 *  @copydoc MPI_Neighbor_allgather
 *  @param[in] sendbuf  the data; not looked at if this rank sends to nobody
 *  @param[in] sendcounts  the elements for each neighbour
 *  @param[in] sdispls  where the block for each neighbour begins, from the beginning of sendbuf, in
 *      extents of sendtype
 *  @param[in] recvcounts  the elements from each neighbour
 *  @param[in] rdispls  where the block of each neighbour goes, from the beginning of recvbuf, in
 *      extents of recvtype
 *  @note The arrays of MPI_Ineighbor_alltoallv must not be changed until the request is complete,
 *      those of MPI_Neighbor_alltoallv_init until it is freed.
 *  @see MPI_Neighbor_alltoall, MPI_Neighbor_alltoallw */
WEFT_API(MPI_Neighbor_alltoallv);
int PMPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                            MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLTOALLV,
                            .name = "MPI_Neighbor_alltoallv",
                            .comm = comm,
                            .send = weft_slices(sendbuf, sendcounts, sdispls, sendtype),
                            .recv = weft_slices(recvbuf, recvcounts, rdispls, recvtype)},
        settle_neighbor);
}

WEFT_API(MPI_Neighbor_alltoallv_c);
int PMPI_Neighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              MPI_Datatype recvtype, MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLTOALLV,
                            .name = "MPI_Neighbor_alltoallv",
                            .comm = comm,
                            .send = weft_slices_c(sendbuf, sendcounts, sdispls, sendtype),
                            .recv = weft_slices_c(recvbuf, recvcounts, rdispls, recvtype)},
        settle_neighbor);
}

/* ---- alltoallw ---- */

/** Sends a block of its own to each neighbour, and receives one from each, with a length, a place
 *  and a datatype for each of them (section 8.6.2).
 *  @copydoc MPI_Neighbor_allgather
 *  @param[in] sendbuf  the data; not looked at if this rank sends to nobody
 *  @param[in] sendcounts  the elements for each neighbour
 *  @param[in] sdispls  where the block for each neighbour begins, from the beginning of sendbuf, in
 *      bytes
 *  @param[in] sendtypes  the datatype of the elements for each neighbour; any, MPI_DATATYPE_NULL
 *      too, where the count is 0
 *  @param[in] recvcounts  the elements from each neighbour
 *  @param[in] rdispls  where the block of each neighbour goes, from the beginning of recvbuf, in
 *      bytes
 *  @param[in] recvtypes  the datatype of the elements from each neighbour; any, MPI_DATATYPE_NULL
 *      too, where the count is 0
 *  @note The arrays of MPI_Ineighbor_alltoallw must not be changed until the request is complete,
 *      those of MPI_Neighbor_alltoallw_init until it is freed.
 *  @see MPI_Neighbor_alltoallv, MPI_Alltoallw */
WEFT_API(MPI_Neighbor_alltoallw);
int PMPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLTOALLW,
                            .name = "MPI_Neighbor_alltoallw",
                            .comm = comm,
                            .send = weft_pieces_aint(sendbuf, sendcounts, sdispls, sendtypes),
                            .recv = weft_pieces_aint(recvbuf, recvcounts, rdispls, recvtypes)},
        settle_neighbor);
}

WEFT_API(MPI_Neighbor_alltoallw_c);
int PMPI_Neighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                              void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                              const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_NEIGHBOR_ALLTOALLW,
                            .name = "MPI_Neighbor_alltoallw",
                            .comm = comm,
                            .send = weft_pieces_c(sendbuf, sendcounts, sdispls, sendtypes),
                            .recv = weft_pieces_c(recvbuf, recvcounts, rdispls, recvtypes)},
        settle_neighbor);
}
