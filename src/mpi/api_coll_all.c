/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data from all ranks to all (MPI 5.0, sections 6.7, 6.8 and 6.12). */
#include "mpi/api.h"

#include "mpi/coll_call.h"

static const weft_coll_side_t in_place = {.buf = MPI_IN_PLACE};

static inline int check_sides(const weft_coll_call_t *user, const weft_side_names_t *send_names,
                              const weft_side_names_t *recv_names, const weft_comm_t *comm)
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

static int settle_allgather(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args)
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

static int settle_alltoall(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args)
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
