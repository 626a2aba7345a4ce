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
