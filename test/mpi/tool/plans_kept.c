/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that calls many collectives in turn writes the plan of each once, also of those with
 * arrays of counts where the ranks share memory. */
#include "variables.h"

enum { ROUNDS = 20, WARM_UP = 5, RANKS_MOST = 16 };

static double in[2 * RANKS_MOST], out[2 * RANKS_MOST];
static int counts[RANKS_MOST], displs[RANKS_MOST];
static MPI_Datatype types[RANKS_MOST];

static void call_all(MPI_Comm comm)
{
    EXPECT(MPI_Barrier(comm), MPI_SUCCESS);
    EXPECT(MPI_Bcast(in, 2, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
    EXPECT(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT(MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_MAX, comm), MPI_SUCCESS);
    EXPECT(MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, comm), MPI_SUCCESS);
    EXPECT(MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm), MPI_SUCCESS);
    EXPECT(MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm), MPI_SUCCESS);
    EXPECT(MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT(
        MPI_Allgatherv(in, counts[expect_rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, comm),
        MPI_SUCCESS);
    EXPECT(
        MPI_Gatherv(in, counts[expect_rank], MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, 0, comm),
        MPI_SUCCESS);
    EXPECT(
        MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, counts[expect_rank], MPI_DOUBLE, 0, comm),
        MPI_SUCCESS);
    EXPECT(MPI_Alltoallv(in, counts, displs, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, comm),
           MPI_SUCCESS);
    EXPECT(MPI_Alltoallw(in, counts, displs, types, out, counts, displs, types, comm), MPI_SUCCESS);
}

/* The counts are ones, so that what a rank sends to another is what that one expects. */
static void fill_arrays(void)
{
    for (int i = 0; i < expect_size; i++) {
        counts[i] = 1;
        displs[i] = i;
        types[i] = MPI_DOUBLE;
        in[i] = expect_rank + i;
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session session;
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle written = counter(session, "coll_plans_written");
    fill_arrays();
    for (int i = 0; i < WARM_UP; i++)
        call_all(MPI_COMM_WORLD);
    EXPECT_T(MPI_T_pvar_start(session, written));
    for (int i = 0; i < ROUNDS; i++)
        call_all(MPI_COMM_WORLD);
    EXPECT(pvar_value(session, written), 0);
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
    return expect_end();
}
