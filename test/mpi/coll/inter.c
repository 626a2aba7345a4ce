/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on intercommunicators in all forms: groups of unequal sizes in both orders, all roots
 * of both groups, counts 0 to large, datatypes with gaps, arguments that do not matter, and wrong
 * ones.
 */
#include "coll/elements.h"

enum { MOST_RANKS = 64, SIDE = 1000, SUMS_MOST = 5000 };

static const void *const nowhere = (void *)-1; /* for arguments that must not be used */
static const MPI_Datatype no_type = (MPI_Datatype)-64;

static MPI_Comm inter;
static int side, rank, size, remote_size; /* side 0 or 1; rank and size in the own group */
static int root_side, root;
static const kind_t *send_kind, *recv_kind;
static size_t count;

/* ---- who is who ---- */

static int own_id(void)
{
    return side * SIDE + rank;
}

static int remote_id(int index)
{
    return (1 - side) * SIDE + index;
}

static bool is_root(void)
{
    return side == root_side && rank == root;
}

static bool is_with_root(void)
{
    return side == root_side;
}

/* The argument `root` of this rank. */
static int named_root(void)
{
    return !is_with_root() ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

/* ---- arrays with an entry for each remote rank ---- */

typedef struct arrays {
    int counts[MOST_RANKS], displs[MOST_RANKS];
    MPI_Count wide_counts[MOST_RANKS];
    MPI_Aint wide_displs[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
} arrays_t;

static size_t count_of(int id)
{
    return count == 0 ? 0 : (count + 3 * (size_t)id) % (count + 1);
}

/* The same in both directions. */
static size_t count_between(int index, int remote)
{
    return count == 0 ? 0 : (count + (size_t)index * (size_t)remote) % (count + 1);
}

/* The last block comes first, and one element is left free between blocks. */
static size_t lay_out(arrays_t *arrays, bool is_between)
{
    size_t at = 0;
    for (int i = remote_size - 1; i >= 0; i--) {
        size_t its = is_between ? count_between(rank, i) : count_of(remote_id(i));
        arrays->wide_counts[i] = (MPI_Count)its;
        arrays->wide_displs[i] = (MPI_Aint)at;
        arrays->counts[i] = (int)its;
        arrays->displs[i] = (int)at;
        at += its + 1;
    }
    return at;
}

/* In bytes, with a type for each rank. */
static void to_bytes(arrays_t *arrays, const kind_t *kind)
{
    for (int i = 0; i < remote_size; i++) {
        arrays->wide_displs[i] *= kind->extent;
        arrays->displs[i] = (int)arrays->wide_displs[i];
        arrays->types[i] = arrays->counts[i] == 0 ? MPI_DATATYPE_NULL : kind->type;
    }
}

static void end_both(area_t *in, area_t *out)
{
    area_end(in, "sendbuf");
    area_end(out, "recvbuf");
}

/* ---- with a root ---- */

static void test_bcast(void)
{
    area_t area = area_make(send_kind, count);
    if (is_root())
        area_fill(&area, 0, count, own_id(), 0);
    else if (!is_with_root())
        area_expect(&area, 0, count, remote_id(root), 0);
    bool matters = is_root() || !is_with_root();
    void *at = matters ? area.at : (void *)nowhere;
    MPI_Datatype type = matters ? send_kind->type : no_type;
    RUN_FORMS(Bcast, bcast, (at, (int)count, type, named_root(), inter),
              (at, (MPI_Count)count, type, named_root(), inter));
    area_end(&area, "buffer");
}

static void test_gather(bool has_arrays)
{
    static arrays_t arrays;
    size_t own = has_arrays ? count_of(own_id()) : count;
    size_t total = lay_out(&arrays, false), all = count * (size_t)remote_size;
    area_t in = area_make(send_kind, own), out = area_make(recv_kind, has_arrays ? total : all);
    area_fill(&in, 0, own, own_id(), 0);
    for (int i = 0; is_root() && i < remote_size; i++)
        area_expect(&out, has_arrays ? arrays.wide_displs[i] : (MPI_Aint)(count * (size_t)i),
                    has_arrays ? (size_t)arrays.wide_counts[i] : count, remote_id(i), 0);
    const void *from = is_with_root() ? nowhere : in.at;
    void *to = is_root() ? out.at : (void *)nowhere;
    MPI_Datatype sent = is_with_root() ? no_type : send_kind->type;
    MPI_Datatype received = is_root() ? recv_kind->type : no_type;
    if (has_arrays)
        RUN_FORMS(Gatherv, gatherv,
                  (from, (int)own, sent, to, is_root() ? arrays.counts : NULL, arrays.displs,
                   received, named_root(), inter),
                  (from, (MPI_Count)own, sent, to, arrays.wide_counts,
                   is_root() ? arrays.wide_displs : NULL, received, named_root(), inter));
    else
        RUN_FORMS(
            Gather, gather, (from, (int)own, sent, to, (int)count, received, named_root(), inter),
            (from, (MPI_Count)own, sent, to, (MPI_Count)count, received, named_root(), inter));
    end_both(&in, &out);
}

static void test_scatter(bool has_arrays)
{
    static arrays_t arrays;
    size_t own = has_arrays ? count_of(own_id()) : count;
    size_t total = lay_out(&arrays, false), all = count * (size_t)remote_size;
    area_t in = area_make(send_kind, has_arrays ? total : all), out = area_make(recv_kind, own);
    for (int i = 0; is_root() && i < remote_size; i++)
        area_fill(&in, has_arrays ? arrays.wide_displs[i] : (MPI_Aint)(count * (size_t)i),
                  has_arrays ? (size_t)arrays.wide_counts[i] : count, own_id(), i);
    if (!is_with_root())
        area_expect(&out, 0, own, remote_id(root), rank);
    const void *from = is_root() ? in.at : nowhere;
    void *to = is_with_root() ? (void *)nowhere : out.at;
    MPI_Datatype sent = is_root() ? send_kind->type : no_type;
    MPI_Datatype received = is_with_root() ? no_type : recv_kind->type;
    if (has_arrays)
        RUN_FORMS(Scatterv, scatterv,
                  (from, is_root() ? arrays.counts : NULL, arrays.displs, sent, to, (int)own,
                   received, named_root(), inter),
                  (from, arrays.wide_counts, is_root() ? arrays.wide_displs : NULL, sent, to,
                   (MPI_Count)own, received, named_root(), inter));
    else
        RUN_FORMS(
            Scatter, scatter, (from, (int)count, sent, to, (int)own, received, named_root(), inter),
            (from, (MPI_Count)count, sent, to, (MPI_Count)own, received, named_root(), inter));
    end_both(&in, &out);
}

/* ---- without a root ---- */

static void test_allgather(void)
{
    area_t in = area_make(send_kind, count),
           out = area_make(recv_kind, count * (size_t)remote_size);
    area_fill(&in, 0, count, own_id(), 0);
    for (int i = 0; i < remote_size; i++)
        area_expect(&out, (MPI_Aint)(count * (size_t)i), count, remote_id(i), 0);
    RUN_FORMS(Allgather, allgather,
              (in.at, (int)count, send_kind->type, out.at, (int)count, recv_kind->type, inter),
              (in.at, (MPI_Count)count, send_kind->type, out.at, (MPI_Count)count, recv_kind->type,
               inter));
    end_both(&in, &out);
}

static void test_allgatherv(void)
{
    static arrays_t arrays;
    size_t total = lay_out(&arrays, false), own = count_of(own_id());
    area_t in = area_make(send_kind, own), out = area_make(recv_kind, total);
    area_fill(&in, 0, own, own_id(), 0);
    for (int i = 0; i < remote_size; i++)
        area_expect(&out, arrays.wide_displs[i], (size_t)arrays.wide_counts[i], remote_id(i), 0);
    RUN_FORMS(Allgatherv, allgatherv,
              (in.at, (int)own, send_kind->type, out.at, arrays.counts, arrays.displs,
               recv_kind->type, inter),
              (in.at, (MPI_Count)own, send_kind->type, out.at, arrays.wide_counts,
               arrays.wide_displs, recv_kind->type, inter));
    end_both(&in, &out);
}

static void test_alltoall(void)
{
    size_t all = count * (size_t)remote_size;
    area_t in = area_make(send_kind, all), out = area_make(recv_kind, all);
    for (int i = 0; i < remote_size; i++) {
        area_fill(&in, (MPI_Aint)(count * (size_t)i), count, own_id(), i);
        area_expect(&out, (MPI_Aint)(count * (size_t)i), count, remote_id(i), rank);
    }
    RUN_FORMS(Alltoall, alltoall,
              (in.at, (int)count, send_kind->type, out.at, (int)count, recv_kind->type, inter),
              (in.at, (MPI_Count)count, send_kind->type, out.at, (MPI_Count)count, recv_kind->type,
               inter));
    end_both(&in, &out);
}

static void test_alltoallv(bool has_types)
{
    static arrays_t sent, received;
    size_t total = lay_out(&sent, true);
    received = sent;
    area_t in = area_make(send_kind, total), out = area_make(recv_kind, total);
    for (int i = 0; i < remote_size; i++) {
        size_t its = (size_t)sent.wide_counts[i];
        area_fill(&in, sent.wide_displs[i], its, own_id(), i);
        area_expect(&out, sent.wide_displs[i], its, remote_id(i), rank);
    }
    if (has_types) {
        to_bytes(&sent, send_kind);
        to_bytes(&received, recv_kind);
        RUN_FORMS(Alltoallw, alltoallw,
                  (in.at, sent.counts, sent.displs, sent.types, out.at, received.counts,
                   received.displs, received.types, inter),
                  (in.at, sent.wide_counts, sent.wide_displs, sent.types, out.at,
                   received.wide_counts, received.wide_displs, received.types, inter));
    } else {
        RUN_FORMS(Alltoallv, alltoallv,
                  (in.at, sent.counts, sent.displs, send_kind->type, out.at, sent.counts,
                   sent.displs, recv_kind->type, inter),
                  (in.at, sent.wide_counts, sent.wide_displs, send_kind->type, out.at,
                   sent.wide_counts, sent.wide_displs, recv_kind->type, inter));
    }
    end_both(&in, &out);
}

/* ---- reductions ---- */

static int operand(int id, int index)
{
    return id * 3 + index + 1;
}

static int remote_sum(int index)
{
    int sum = 0;
    for (int i = 0; i < remote_size; i++)
        sum += operand(remote_id(i), index);
    return sum;
}

/* Not commutative: the first operand, of all ranks the one with the lowest rank. */
static void keep_first(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, sizeof(int) * (size_t)*length);
}

typedef struct sums {
    char in_kind, out_kind;
    int *in, *out, content[SUMS_MOST];
    int total;
} sums_t;

static void sums_make(sums_t *sums, int total)
{
    sums->total = total;
    sums->in_kind = memory_next_kind();
    sums->out_kind = memory_next_kind();
    sums->in = memory_take(sums->in_kind, sizeof(sums->content));
    sums->out = memory_take(sums->out_kind, sizeof(sums->content));
    memset(sums->content, 0xff, sizeof(sums->content));
    memory_put(sums->out_kind, sums->out, sums->content, sizeof(sums->content));
    for (int i = 0; i < total; i++)
        sums->content[i] = operand(own_id(), i);
    memory_put(sums->in_kind, sums->in, sums->content, sizeof(sums->content));
}

/* `expected` elements from `first` of the remote group's sum, and nothing behind them. */
static void sums_end(sums_t *sums, int first, int expected)
{
    memory_get(sums->out_kind, sums->content, sums->out, sizeof(sums->content));
    for (int i = 0; i < expected; i++)
        EXPECT(sums->content[i], remote_sum(first + i));
    EXPECT(sums->content[expected], -1);
    memory_give(sums->in_kind, sums->in);
    memory_give(sums->out_kind, sums->out);
}

static void test_reduce(int n)
{
    static sums_t sums;
    sums_make(&sums, n);
    test_count = (size_t)n;
    int *out = is_root() ? sums.out : (int *)(uintptr_t)nowhere;
    const int *in = is_with_root() ? nowhere : sums.in;
    RUN_FORMS(Reduce, reduce, (in, out, n, MPI_INT, MPI_SUM, named_root(), inter),
              (in, out, n, MPI_INT, MPI_SUM, named_root(), inter));
    sums_end(&sums, 0, is_root() ? n : 0);
}

static void test_allreduce(int n)
{
    static sums_t sums;
    sums_make(&sums, n);
    RUN_FORMS(Allreduce, allreduce, (sums.in, sums.out, n, MPI_INT, MPI_SUM, inter),
              (sums.in, sums.out, n, MPI_INT, MPI_SUM, inter));
    sums_end(&sums, 0, n);
}

/* Each group divides the same total among its members. */
static void test_reduce_scatter(void)
{
    static sums_t sums;
    int counts[MOST_RANKS], total = size * remote_size * 2 + 1, first = 0;
    MPI_Count wide[MOST_RANKS];
    for (int i = 0; i < size; i++) {
        wide[i] = counts[i] =
            i == size - 1 ? total - 2 * remote_size * (size - 1) : 2 * remote_size;
        first += i < rank ? counts[i] : 0;
    }
    sums_make(&sums, total);
    RUN_FORMS(Reduce_scatter, reduce_scatter, (sums.in, sums.out, counts, MPI_INT, MPI_SUM, inter),
              (sums.in, sums.out, wide, MPI_INT, MPI_SUM, inter));
    sums_end(&sums, first, counts[rank]);
    int block = 3 * remote_size;
    sums_make(&sums, block * size);
    RUN_FORMS(Reduce_scatter_block, reduce_scatter_block,
              (sums.in, sums.out, block, MPI_INT, MPI_SUM, inter),
              (sums.in, sums.out, block, MPI_INT, MPI_SUM, inter));
    sums_end(&sums, block * rank, block);
}

/* Operands are applied in the order of ranks. */
static void test_order(void)
{
    int in = own_id(), out = -1;
    MPI_Op first;
    MPI_Op_create(keep_first, 0, &first);
    EXPECT(MPI_Allreduce(&in, &out, 1, MPI_INT, first, inter), MPI_SUCCESS);
    EXPECT(out, remote_id(0));
    MPI_Op_free(&first);
}

/* ---- wrong arguments ---- */

static void test_errors(void)
{
    int number = 1, got = 0, minus[MOST_RANKS] = {-1};
    MPI_Request request;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Bcast(&number, 1, MPI_INT, remote_size, inter), MPI_ERR_ROOT);
    EXPECT_ERROR(MPI_Bcast(&number, -1, MPI_INT, MPI_ROOT, inter), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Bcast(NULL, 1, MPI_INT, 0, inter), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, &got, 1, MPI_INT, 0, inter), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Gatherv(&number, 1, MPI_INT, &got, NULL, minus, MPI_INT, MPI_ROOT, inter),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Scatter(&number, 1, MPI_DATATYPE_NULL, &got, 1, MPI_INT, MPI_ROOT, inter),
                 MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Allreduce(&got, &got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Allreduce(&number, &got, 1, MPI_INT, MPI_OP_NULL, inter), MPI_ERR_OP);
    EXPECT_ERROR(MPI_Allreduce(&number, &got, 1, MPI_DOUBLE, MPI_BAND, inter), MPI_ERR_OP);
    EXPECT_ERROR(MPI_Reduce(&number, &got, -1, MPI_INT, MPI_SUM, 0, inter), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Reduce_scatter(&number, &got, minus, MPI_INT, MPI_SUM, inter), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Scan(&number, &got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Iexscan(&number, &got, 1, MPI_INT, MPI_SUM, inter, &request), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Neighbor_allgather(&number, 1, MPI_INT, &got, 1, MPI_INT, inter),
                 MPI_ERR_TOPOLOGY);
    EXPECT_ERROR(MPI_Iallreduce(&number, &got, 1, MPI_INT, MPI_SUM, inter, NULL), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

/* ---- all of it ---- */

static void test_rooted(void)
{
    test_root = root;
    test_count = count;
    test_bcast();
    for (int has_arrays = 0; has_arrays < 2; has_arrays++) {
        test_gather(has_arrays);
        test_scatter(has_arrays);
    }
    test_reduce((int)count % SUMS_MOST);
}

static void test_rootless(void)
{
    test_count = count;
    test_allgather();
    test_allgatherv();
    test_alltoall();
    test_alltoallv(false);
    test_alltoallv(true);
    test_allreduce((int)count % SUMS_MOST);
}

static void run_all(size_t elements)
{
    static int turn;
    count = elements;
    for (root_side = 0; root_side < 2; root_side++) {
        int roots = root_side == side ? size : remote_size;
        for (root = elements > 100 ? roots - 1 : 0; root < roots; root++) {
            turn++;
            send_kind = &kinds[turn % KINDS];
            recv_kind = &kinds[turn / KINDS % KINDS];
            test_rooted();
            test_rootless();
        }
    }
}

static void test_barrier(void)
{
    MPI_Request request;
    EXPECT(MPI_Barrier(inter), MPI_SUCCESS);
    EXPECT(MPI_Ibarrier(inter, &request), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(MPI_Barrier_init(inter, MPI_INFO_NULL, &request), MPI_SUCCESS);
    run_prepared(&request);
}

/* Side 0 has the first `border` ranks of the world, or all from there on. */
static void run_split(int border, int is_swapped)
{
    MPI_Comm local;
    side = (expect_rank >= border) != is_swapped;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, expect_rank >= border ? 0 : border, 17, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote_size);
    test_barrier();
    run_all(0);
    run_all(1);
    run_all(17);
    run_all(4001);
    test_reduce_scatter();
    test_order();
    test_errors();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    make_kinds();
    if (expect_size > 1) {
        run_split(1, 0);
        run_split((expect_size + 1) / 2, 1);
        run_split(expect_size - 1, 0);
    }
    free_kinds();
    return expect_end();
}
