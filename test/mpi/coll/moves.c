/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that move data, in all forms: all roots, counts 0 to large, datatypes with gaps on
 * either side, MPI_IN_PLACE wherever it is allowed, arguments that are not significant, permuted
 * ranks.
 */
#include "coll/elements.h"

enum { MOST_RANKS = 64 };

static const void *const nowhere = (void *)-1; /* for arguments that must not be used */
static const MPI_Datatype no_type = (MPI_Datatype)-64;

static MPI_Comm comm;
static int rank, size;
static const kind_t *send_kind, *recv_kind;
static int root;
static size_t count;
static bool is_in_place;

/* ---- the arrays of the v and w forms ---- */

typedef struct arrays {
    int counts[MOST_RANKS], displs[MOST_RANKS];
    MPI_Count wide_counts[MOST_RANKS];
    MPI_Aint wide_displs[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
} arrays_t;

/* The number of elements between two ranks; it is the same in both directions, as the call may be
 * in place. */
static size_t count_between(int from, int to)
{
    size_t low = (size_t)(from < to ? from : to), high = (size_t)(from < to ? to : from);
    return count == 0 ? 0 : (count + 5 * low + 3 * high) % (count + 1);
}

/* The last rank's block comes first, and one element is left free between blocks. Returns the
 * number of all elements. */
static size_t lay_out(arrays_t *arrays, int self, bool is_of_self)
{
    size_t at = 0;
    for (int i = size - 1; i >= 0; i--) {
        arrays->wide_counts[i] = (MPI_Count)count_between(i, is_of_self ? i : self);
        arrays->wide_displs[i] = (MPI_Aint)at;
        arrays->counts[i] = (int)arrays->wide_counts[i];
        arrays->displs[i] = (int)at;
        at += (size_t)arrays->wide_counts[i] + 1;
    }
    return at;
}

static void fill_blocks(area_t *area, const arrays_t *arrays, bool is_outgoing)
{
    for (int i = 0; i < size; i++)
        area_fill(area, arrays->wide_displs[i], (size_t)arrays->wide_counts[i],
                  is_outgoing ? rank : i, is_outgoing ? i : rank);
}

/* ---- from and to a root ---- */

static void test_bcast(void)
{
    area_t area = area_make(send_kind, count);
    if (rank == root)
        area_fill(&area, 0, count, root, 0);
    else
        area_expect(&area, 0, count, root, 0);
    RUN_FORMS(Bcast, bcast, (area.at, (int)count, send_kind->type, root, comm),
              (area.at, (MPI_Count)count, send_kind->type, root, comm));
    area_end(&area, "buffer");
}

static void test_gather(void)
{
    bool is_root = rank == root, puts_in_place = is_root && is_in_place;
    area_t in = area_make(send_kind, count), out = area_make(recv_kind, count * (size_t)size);
    area_fill(&in, 0, count, rank, 0);
    for (int i = 0; is_root && i < size; i++)
        area_expect(&out, (MPI_Aint)(count * (size_t)i), count, i, 0);
    if (puts_in_place)
        area_fill(&out, (MPI_Aint)(count * (size_t)rank), count, rank, 0);
    const void *from = puts_in_place ? MPI_IN_PLACE : in.at;
    void *to = is_root ? out.at : (void *)nowhere;
    int sent = puts_in_place ? -1 : (int)count, received = is_root ? (int)count : -1;
    MPI_Datatype sent_type = puts_in_place ? no_type : send_kind->type;
    MPI_Datatype received_type = is_root ? recv_kind->type : no_type;
    RUN_FORMS(Gather, gather, (from, sent, sent_type, to, received, received_type, root, comm),
              (from, sent, sent_type, to, received, received_type, root, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

static void test_gatherv(void)
{
    bool is_root = rank == root, puts_in_place = is_root && is_in_place;
    static arrays_t arrays;
    size_t total = lay_out(&arrays, rank, true), own = count_between(rank, rank);
    area_t in = area_make(send_kind, own), out = area_make(recv_kind, total);
    area_fill(&in, 0, own, rank, 0);
    for (int i = 0; is_root && i < size; i++)
        area_expect(&out, arrays.wide_displs[i], (size_t)arrays.wide_counts[i], i, 0);
    if (puts_in_place)
        area_fill(&out, arrays.wide_displs[rank], own, rank, 0);
    const void *from = puts_in_place ? MPI_IN_PLACE : in.at;
    void *to = is_root ? out.at : (void *)nowhere;
    int sent = puts_in_place ? -1 : (int)own;
    MPI_Datatype sent_type = puts_in_place ? no_type : send_kind->type;
    MPI_Datatype received_type = is_root ? recv_kind->type : no_type;
    RUN_FORMS(Gatherv, gatherv,
              (from, sent, sent_type, to, is_root ? arrays.counts : NULL,
               is_root ? arrays.displs : NULL, received_type, root, comm),
              (from, sent, sent_type, to, is_root ? arrays.wide_counts : NULL,
               is_root ? arrays.wide_displs : NULL, received_type, root, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

static void test_scatter(void)
{
    bool is_root = rank == root, puts_in_place = is_root && is_in_place;
    area_t in = area_make(send_kind, count * (size_t)size), out = area_make(recv_kind, count);
    for (int i = 0; is_root && i < size; i++)
        area_fill(&in, (MPI_Aint)(count * (size_t)i), count, rank, i);
    if (!puts_in_place)
        area_expect(&out, 0, count, root, rank);
    const void *from = is_root ? in.at : nowhere;
    void *to = puts_in_place ? MPI_IN_PLACE : out.at;
    int sent = is_root ? (int)count : -1, received = puts_in_place ? -1 : (int)count;
    MPI_Datatype sent_type = is_root ? send_kind->type : no_type;
    MPI_Datatype received_type = puts_in_place ? no_type : recv_kind->type;
    RUN_FORMS(Scatter, scatter, (from, sent, sent_type, to, received, received_type, root, comm),
              (from, sent, sent_type, to, received, received_type, root, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

static void test_scatterv(void)
{
    bool is_root = rank == root, puts_in_place = is_root && is_in_place;
    static arrays_t arrays;
    size_t total = lay_out(&arrays, rank, true), own = count_between(rank, rank);
    area_t in = area_make(send_kind, total), out = area_make(recv_kind, own);
    if (is_root)
        fill_blocks(&in, &arrays, true);
    if (!puts_in_place)
        area_expect(&out, 0, own, root, rank);
    const void *from = is_root ? in.at : nowhere;
    void *to = puts_in_place ? MPI_IN_PLACE : out.at;
    int received = puts_in_place ? -1 : (int)own;
    MPI_Datatype sent_type = is_root ? send_kind->type : no_type;
    MPI_Datatype received_type = puts_in_place ? no_type : recv_kind->type;
    RUN_FORMS(Scatterv, scatterv,
              (from, is_root ? arrays.counts : NULL, is_root ? arrays.displs : NULL, sent_type, to,
               received, received_type, root, comm),
              (from, is_root ? arrays.wide_counts : NULL, is_root ? arrays.wide_displs : NULL,
               sent_type, to, received, received_type, root, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

/* ---- from all to all ---- */

static void test_allgather(void)
{
    area_t in = area_make(send_kind, count), out = area_make(recv_kind, count * (size_t)size);
    area_fill(&in, 0, count, rank, 0);
    for (int i = 0; i < size; i++)
        area_expect(&out, (MPI_Aint)(count * (size_t)i), count, i, 0);
    if (is_in_place)
        area_fill(&out, (MPI_Aint)(count * (size_t)rank), count, rank, 0);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    int sent = is_in_place ? -1 : (int)count;
    MPI_Datatype sent_type = is_in_place ? no_type : send_kind->type;
    RUN_FORMS(Allgather, allgather,
              (from, sent, sent_type, out.at, (int)count, recv_kind->type, comm),
              (from, sent, sent_type, out.at, (MPI_Count)count, recv_kind->type, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

static void test_allgatherv(void)
{
    static arrays_t arrays;
    size_t total = lay_out(&arrays, rank, true), own = count_between(rank, rank);
    area_t in = area_make(send_kind, own), out = area_make(recv_kind, total);
    area_fill(&in, 0, own, rank, 0);
    for (int i = 0; i < size; i++)
        area_expect(&out, arrays.wide_displs[i], (size_t)arrays.wide_counts[i], i, 0);
    if (is_in_place)
        area_fill(&out, arrays.wide_displs[rank], own, rank, 0);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    int sent = is_in_place ? -1 : (int)own;
    MPI_Datatype sent_type = is_in_place ? no_type : send_kind->type;
    RUN_FORMS(Allgatherv, allgatherv,
              (from, sent, sent_type, out.at, arrays.counts, arrays.displs, recv_kind->type, comm),
              (from, sent, sent_type, out.at, arrays.wide_counts, arrays.wide_displs,
               recv_kind->type, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

static void test_alltoall(void)
{
    area_t in = area_make(send_kind, count * (size_t)size),
           out = area_make(recv_kind, count * (size_t)size);
    for (int i = 0; i < size; i++) {
        area_fill(&in, (MPI_Aint)(count * (size_t)i), count, rank, i);
        if (is_in_place)
            area_fill(&out, (MPI_Aint)(count * (size_t)i), count, rank, i);
    }
    for (int i = 0; i < size; i++)
        area_expect(&out, (MPI_Aint)(count * (size_t)i), count, i, rank);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    int sent = is_in_place ? -1 : (int)count;
    MPI_Datatype sent_type = is_in_place ? no_type : send_kind->type;
    RUN_FORMS(Alltoall, alltoall,
              (from, sent, sent_type, out.at, (int)count, recv_kind->type, comm),
              (from, sent, sent_type, out.at, (MPI_Count)count, recv_kind->type, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

/* The buffers of alltoallv, and of alltoallw with one type. */
static void make_slices(arrays_t *arrays, area_t *in, area_t *out)
{
    size_t total = lay_out(arrays, rank, false);
    *in = area_make(send_kind, total);
    *out = area_make(recv_kind, total);
    fill_blocks(in, arrays, true);
    if (is_in_place)
        fill_blocks(out, arrays, true);
    for (int i = 0; i < size; i++)
        area_expect(out, arrays->wide_displs[i], (size_t)arrays->wide_counts[i], i, rank);
}

static void test_alltoallv(void)
{
    static arrays_t arrays;
    area_t in, out;
    make_slices(&arrays, &in, &out);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    MPI_Datatype sent_type = is_in_place ? no_type : send_kind->type;
    RUN_FORMS(Alltoallv, alltoallv,
              (from, is_in_place ? NULL : arrays.counts, is_in_place ? NULL : arrays.displs,
               sent_type, out.at, arrays.counts, arrays.displs, recv_kind->type, comm),
              (from, is_in_place ? NULL : arrays.wide_counts,
               is_in_place ? NULL : arrays.wide_displs, sent_type, out.at, arrays.wide_counts,
               arrays.wide_displs, recv_kind->type, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

/* Turns displacements into bytes, with a type for each rank. */
static void to_bytes(arrays_t *arrays, const kind_t *kind)
{
    for (int i = 0; i < size; i++) {
        arrays->wide_displs[i] *= kind->extent;
        arrays->displs[i] = (int)arrays->wide_displs[i];
        arrays->types[i] = arrays->counts[i] == 0 ? MPI_DATATYPE_NULL : kind->type;
    }
}

static void test_alltoallw(void)
{
    static arrays_t sent, received;
    area_t in, out;
    make_slices(&sent, &in, &out);
    received = sent;
    to_bytes(&sent, send_kind);
    to_bytes(&received, recv_kind);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    RUN_FORMS(Alltoallw, alltoallw,
              (from, sent.counts, sent.displs, sent.types, out.at, received.counts, received.displs,
               received.types, comm),
              (from, sent.wide_counts, sent.wide_displs, sent.types, out.at, received.wide_counts,
               received.wide_displs, received.types, comm));
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

/* ---- all of it ---- */

static void test_barrier(void)
{
    MPI_Request request;
    test_name = "MPI_Ibarrier";
    EXPECT(MPI_Barrier(comm), MPI_SUCCESS);
    EXPECT(MPI_Ibarrier(comm, &request), MPI_SUCCESS);
    complete(&request);
}

static void test_rooted(void)
{
    test_root = root;
    test_bcast();
    test_gather();
    test_gatherv();
    test_scatter();
    test_scatterv();
}

static void test_rootless(void)
{
    test_allgather();
    test_allgatherv();
    test_alltoall();
    test_alltoallv();
    test_alltoallw();
}

/* Runs with all roots where that is cheap, else with one. */
static void run_all(size_t elements)
{
    static int turn;
    count = test_count = elements;
    int roots = elements > 100 ? 1 : size;
    for (int i = 0; i < roots; i++) {
        turn++;
        root = elements > 100 ? turn % size : i;
        send_kind = &kinds[turn % KINDS];
        recv_kind = &kinds[turn / KINDS % KINDS];
        is_in_place = turn % 3 == 0;
        test_rooted();
        test_rootless();
    }
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {0, 1, 7, 1000, 20000};
    MPI_Comm comms[COMMS];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    make_kinds();
    make_comms(comms);
    for (int i = 0; i < COMMS; i++) {
        comm = comms[i];
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        test_barrier();
        for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
            for (int repeat = 0; repeat < turns_of(counts[j], i); repeat++)
                run_all(counts[j]);
        }
    }
    free_comms(comms);
    free_kinds();
    return expect_end();
}
