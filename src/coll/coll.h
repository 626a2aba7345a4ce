/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: what src/mpi calls. Every collective, blocking or not, is one call with one
 * structure of arguments; an algorithm turns them into a plan (plan.h), and one engine runs plans.
 *
 * Arguments have been checked and the lock is held. Buffers are the user's; send_buf may be
 * MPI_IN_PLACE where the standard allows it (for gather and scatter the root's, and for scatter it
 * is recv_buf that is MPI_IN_PLACE, as in MPI_Scatter).
 */
#ifndef WEFT_COLL_COLL_H
#define WEFT_COLL_COLL_H

#include "object/comm.h"
#include "object/counts.h"
#include "object/request.h"
#include "datatype/op.h"
#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum weft_coll {
    WEFT_BARRIER,
    WEFT_BCAST, /* send_* is the buffer, on all ranks */
    WEFT_GATHER,
    WEFT_GATHERV, /* recv_counts, recv_displs */
    WEFT_SCATTER,
    WEFT_SCATTERV, /* send_counts, send_displs */
    WEFT_ALLGATHER,
    WEFT_ALLGATHERV,
    WEFT_ALLTOALL,
    WEFT_ALLTOALLV,            /* with displacements in elements */
    WEFT_ALLTOALLW,            /* with displacements in bytes; send_types, recv_types */
    WEFT_REDUCE,               /* recv_count, recv_type: elements and type of both buffers */
    WEFT_ALLREDUCE,            /* as reduce */
    WEFT_REDUCE_SCATTER,       /* recv_counts; recv_type */
    WEFT_REDUCE_SCATTER_BLOCK, /* recv_count: the elements of one rank's block; recv_type */
    WEFT_SCAN,                 /* as reduce */
    WEFT_EXSCAN,
    WEFT_COLLS, /* those above have algorithms to choose among, those below follow the topology */
    WEFT_NEIGHBOR_ALLGATHER,
    WEFT_NEIGHBOR_ALLGATHERV,
    WEFT_NEIGHBOR_ALLTOALL,
    WEFT_NEIGHBOR_ALLTOALLV,
    WEFT_NEIGHBOR_ALLTOALLW,
    WEFT_COLL_FORMS
} weft_coll_t;

static inline bool weft_coll_is_neighbor(weft_coll_t coll)
{
    return coll > WEFT_COLLS;
}

/* Members that do not apply to a collective stay zero. Arrays have one entry for each rank (of
 * neighbourhood collectives for each neighbour) and belong to the user until the collective is
 * over. */
typedef struct weft_coll_args {
    weft_comm_t *comm;
    /* Not NULL: an intercommunicator, of which `comm` is the union. Arrays then have an entry for
     * each rank of the remote group (recv_counts of WEFT_REDUCE_SCATTER: of the own group), and
     * `root` is MPI_PROC_NULL at ranks that take no part. */
    const weft_comm_t *inter;
    int root;
    const void *send_buf;
    size_t send_count;
    weft_type_t *send_type;
    void *recv_buf;
    size_t recv_count;
    weft_type_t *recv_type;
    weft_op_t *op;
    weft_counts_t send_counts, send_displs, recv_counts, recv_displs; /* NULL unless named above */
    const MPI_Datatype *send_types, *recv_types;                      /* for alltoallw */
} weft_coll_args_t;

/** The arguments of an allgather, or of a gather at rank 0, where each rank gives `bytes` bytes at
 * `own`; `all` is for those of all ranks. */
weft_coll_args_t weft_coll_args_of_bytes(weft_comm_t *comm, const void *own, void *all,
                                         size_t bytes);

/** Run a collective to its end. Returns MPI_SUCCESS, MPI_ERR_NO_MEM, or MPI_ERR_TRUNCATE when the
 * ranks disagree on sizes. */
int weft_coll_run(weft_coll_t coll, const weft_coll_args_t *args);

/** The same, always by a plan, whose steps are messages. Device memory is not expected. */
int weft_coll_run_by_messages(weft_coll_t coll, const weft_coll_args_t *args);

/** Agree now on the shared memory for collectives, which a communicator within a host gets at its
 *  third blocking one otherwise. Collective over `comm`, blocks. The error of the agreement. */
int weft_coll_share_memory(weft_comm_t *comm);

/** How many plans are kept with a communicator. */
int weft_coll_plans_kept(const weft_comm_t *comm);

/** Begin a collective. Returns MPI_SUCCESS or MPI_ERR_NO_MEM. */
int weft_coll_begin(weft_coll_t coll, const weft_coll_args_t *args, weft_request_t **out);

/** Make a persistent request, inactive; `start` of its functions begins the collective. All ranks
 * prepare in the same order, but may start in any (MPI 5.0 section 6.13). Blocks. Returns
 * MPI_SUCCESS or MPI_ERR_NO_MEM. */
int weft_coll_prepare(weft_coll_t coll, const weft_coll_args_t *args, weft_request_t **out);

/** Called at start-up. Returns MPI_SUCCESS, or MPI_ERR_INTERN with a text. */
int weft_coll_open(void);
/** Called with the lock when this rank has told that it ends: compares the last calls,
 * if WEFT_CHECK=collectives. */
void weft_coll_end_checks(void);
/** Called at the end of MPI. */
void weft_coll_close(void);

#endif
