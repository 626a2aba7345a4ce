/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions in all forms with operations of the user, among them one that does not commute, on
 * datatypes of several shapes: all roots, counts 0 to large, in place, permuted ranks. Also sums of
 * doubles, whose large counts take other algorithms.
 */
#include "coll/elements.h"

enum { MOST_RANKS = 64 };

static MPI_Comm comm;
static int rank, size, root;
static size_t count;
static bool is_in_place;
static const kind_t *kind;

/* ---- operations ---- */

/* Composition of x -> a x + b: associative, and the order matters. */
static element_t compose(element_t x, element_t y)
{
    return (element_t){x.a * y.a, x.b * y.a + y.b};
}

static element_t add(element_t x, element_t y)
{
    return (element_t){x.a + y.a, x.b ^ y.b};
}

/* Asks for the extent, as users' functions do. */
static void apply(element_t (*function)(element_t, element_t), const char *in, char *inout,
                  MPI_Count length, MPI_Datatype type)
{
    MPI_Count lb, extent;
    const kind_t *its = kinds;
    MPI_Type_get_extent_c(type, &lb, &extent);
    while (its->type != type)
        its++;
    for (MPI_Count i = 0; i < length; i++)
        store(inout + i * extent, its,
              function(load(in + i * extent, its), load(inout + i * extent, its)));
}

static void compose_all(void *in, void *inout, int *length, MPI_Datatype *type)
{
    apply(compose, in, inout, *length, *type);
}

static void add_all(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    apply(add, in, inout, *length, *type);
}

typedef struct operation {
    MPI_Op op;
    element_t (*function)(element_t, element_t);
} operation_t;

static operation_t operations[2] = {{.function = compose}, {.function = add}}, *operation;

/* Element `index`, combined over the operands of ranks 0 to last. */
static element_t combined(int last, size_t index)
{
    element_t value = content(0, 0, index);
    for (int i = 1; i <= last; i++)
        value = operation->function(value, content(i, 0, index));
    return value;
}

/* ---- buffers ---- */

static area_t in, out;

/* Begins with `operands` elements to reduce; an operand in place lies in `out`. */
static void begin(size_t operands, bool puts_in_place)
{
    in = area_make(kind, operands);
    out = area_make(kind, operands);
    area_fill(&in, 0, operands, rank, 0);
    if (puts_in_place)
        area_fill(&out, 0, operands, rank, 0);
}

/* The result must be that of ranks 0 to last: `length` elements, beginning with element `first`. */
static void expect_result(int last, size_t first, size_t length)
{
    for (size_t i = 0; i < length; i++)
        area_expect_element(&out, i, combined(last, first + i));
}

static void end(void)
{
    area_end(&in, "sendbuf");
    area_end(&out, "recvbuf");
}

/* ---- collectives ---- */

static void test_reduce(void)
{
    bool is_root = rank == root, puts_in_place = is_root && is_in_place;
    begin(count, puts_in_place);
    if (is_root)
        expect_result(size - 1, 0, count);
    const void *from = puts_in_place ? MPI_IN_PLACE : in.at;
    void *to = is_root ? out.at : NULL;
    test_root = root;
    RUN_FORMS(Reduce, reduce, (from, to, (int)count, kind->type, operation->op, root, comm),
              (from, to, (MPI_Count)count, kind->type, operation->op, root, comm));
    end();
}

static void test_allreduce(void)
{
    begin(count, is_in_place);
    expect_result(size - 1, 0, count);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    RUN_FORMS(Allreduce, allreduce, (from, out.at, (int)count, kind->type, operation->op, comm),
              (from, out.at, (MPI_Count)count, kind->type, operation->op, comm));
    end();
}

static void test_scan(void)
{
    begin(count, is_in_place);
    expect_result(rank, 0, count);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    RUN_FORMS(Scan, scan, (from, out.at, (int)count, kind->type, operation->op, comm),
              (from, out.at, (MPI_Count)count, kind->type, operation->op, comm));
    end();
}

/* Rank 0 gets no result. */
static void test_exscan(void)
{
    begin(count, is_in_place);
    if (rank > 0)
        expect_result(rank - 1, 0, count);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    void *to = rank == 0 && !is_in_place ? NULL : out.at;
    RUN_FORMS(Exscan, exscan, (from, to, (int)count, kind->type, operation->op, comm),
              (from, to, (MPI_Count)count, kind->type, operation->op, comm));
    end();
}

static void test_reduce_scatter_block(void)
{
    begin(count * (size_t)size, is_in_place);
    expect_result(size - 1, count * (size_t)rank, count);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    RUN_FORMS(Reduce_scatter_block, reduce_scatter_block,
              (from, out.at, (int)count, kind->type, operation->op, comm),
              (from, out.at, (MPI_Count)count, kind->type, operation->op, comm));
    end();
}

static void test_reduce_scatter(void)
{
    int counts[MOST_RANKS];
    MPI_Count wide_counts[MOST_RANKS];
    size_t total = 0, first = 0;
    for (int i = 0; i < size; i++) {
        wide_counts[i] = count == 0 ? 0 : (MPI_Count)((count + 5 * (size_t)i) % (count + 1));
        counts[i] = (int)wide_counts[i];
        if (i < rank)
            first += (size_t)counts[i];
        total += (size_t)counts[i];
    }
    begin(total, is_in_place);
    expect_result(size - 1, first, (size_t)counts[rank]);
    const void *from = is_in_place ? MPI_IN_PLACE : in.at;
    RUN_FORMS(Reduce_scatter, reduce_scatter,
              (from, out.at, counts, kind->type, operation->op, comm),
              (from, out.at, wide_counts, kind->type, operation->op, comm));
    end();
}

/* The numbers are so small that all sums are exact. */
static void test_doubles(size_t length)
{
    double *operand = malloc(length * sizeof(double)), *sum = malloc(length * sizeof(double));
    for (size_t i = 0; i < length; i++)
        operand[i] = rank + (double)(i % 1000);
    test_count = length;
    RUN_FORMS(Allreduce, allreduce, (operand, sum, (int)length, MPI_DOUBLE, MPI_SUM, comm),
              (operand, sum, (MPI_Count)length, MPI_DOUBLE, MPI_SUM, comm));
    for (size_t i = 0; i < length; i++)
        EXPECT(sum[i], size * (size - 1) / 2 + size * (int)(i % 1000));
    memcpy(sum, operand, length * sizeof(double));
    RUN_FORMS(
        Reduce, reduce,
        (rank == 0 ? MPI_IN_PLACE : operand, sum, (int)length, MPI_DOUBLE, MPI_SUM, 0, comm),
        (rank == 0 ? MPI_IN_PLACE : operand, sum, (MPI_Count)length, MPI_DOUBLE, MPI_SUM, 0, comm));
    for (size_t i = 0; rank == 0 && i < length; i++)
        EXPECT(sum[i], size * (size - 1) / 2 + size * (int)(i % 1000));
    free(operand);
    free(sum);
}

/* A structure of which the datatype names the first member only; the operation assigns it as a
 * whole. */
typedef struct record {
    uint32_t number;
    char rest[396];
} record_t;

static void keep_first(void *left, void *right, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((record_t *)right)[i] = ((record_t *)left)[i];
}

static void test_whole_structures(void)
{
    enum { RECORDS = 24 };
    static record_t own[RECORDS], first[RECORDS];
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_create_resized(MPI_UINT32_T, 0, sizeof(record_t), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(keep_first, 0, &op);
    for (int length = 1; length <= RECORDS; length += RECORDS - 1) {
        for (int i = 0; i < length; i++)
            own[i].number = (uint32_t)(rank * 100 + i);
        MPI_Allreduce(own, first, length, type, op, comm);
        for (int i = 0; i < length; i++)
            EXPECT(first[i].number, i);
        MPI_Scan(own, first, length, type, op, comm);
        for (int i = 0; i < length; i++)
            EXPECT(first[i].number, i);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
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
        kind = &kinds[turn % KINDS];
        operation = &operations[turn / KINDS % 2];
        is_in_place = turn % 3 == 0;
        test_reduce();
        test_allreduce();
        test_scan();
        test_exscan();
        test_reduce_scatter_block();
        test_reduce_scatter();
    }
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {0, 1, 7, 700, 6000};
    MPI_Comm comms[COMMS];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    make_kinds();
    make_comms(comms);
    MPI_Op_create(compose_all, 0, &operations[0].op);
    MPI_Op_create_c(add_all, 1, &operations[1].op);
    for (int i = 0; i < COMMS; i++) {
        comm = comms[i];
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
            for (int repeat = 0; repeat < turns_of(counts[j], i); repeat++)
                run_all(counts[j]);
        }
        test_whole_structures();
        for (size_t length = 1; length <= 100000; length *= 10)
            test_doubles(length);
    }
    MPI_Op_free(&operations[0].op);
    MPI_Op_free(&operations[1].op);
    free_comms(comms);
    free_kinds();
    return expect_end();
}
