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

WEFT_API(MPI_Barrier);
int PMPI_Barrier(MPI_Comm comm)
{
    return weft_coll_enter(
        &(weft_coll_call_t){.coll = WEFT_BARRIER, .name = "MPI_Barrier", .comm = comm},
        settle_barrier);
}

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

static int check_gather(const weft_coll_call_t *user, const weft_comm_t *comm)
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

static int settle_gather(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args)
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

static int check_scatter(const weft_coll_call_t *user, const weft_comm_t *comm)
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

static int settle_scatter(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args)
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
