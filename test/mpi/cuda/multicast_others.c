/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts, allgathers, reduces and reduce-scatters through multicast memory: is it used where
 * all devices have it, for all roots, in place and with blocks of different lengths, and are the
 * results those of host memory?
 */
#include "method_taken.h"
#include "small_numbers.h"

#include <mpix.h>

enum { MOST_BYTES = 16, GUARD = 64, MOST_RANKS = 32, MANY = 100000, FEW = 4 };

typedef struct call call_t;

/* One case. Where the buffers are used `shift` elements further on, nothing is aligned. */
struct call {
    const char *name;
    void (*run)(const call_t *its, unsigned char *from, unsigned char *to);
    MPI_Datatype type;
    MPI_Op op;
    form_t form;
    int shift, root;
};

static unsigned char *in, *out;            /* on the device */
static unsigned char *sent, *wanted, *got; /* on the host */
static int counts[MOST_RANKS], places[MOST_RANKS];

/* The bytes that a case uses, and some behind them. */
static size_t room_for(int element_bytes)
{
    return (size_t)size * (size_t)(count + size + 1) * (size_t)element_bytes + GUARD;
}

static size_t room(void)
{
    return room_for(MOST_BYTES);
}

/* Blocks differ in length, and every third one is empty. */
static void choose_counts(void)
{
    for (int i = 0, place = 0; i < size; i++) {
        counts[i] = count == 0 || i % 3 == 2 ? 0 : count + i;
        places[i] = place;
        place += counts[i];
    }
}

/* ---- the collectives, on device memory or on host memory ---- */

static void bcast(const call_t *its, unsigned char *from, unsigned char *to)
{
    (void)from;
    MPI_Bcast(to, count, its->type, its->root, comm);
}

static void ibcast(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Request request;
    (void)from;
    MPI_Ibcast(to, count, its->type, its->root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Every other element. */
static void bcast_in_pieces(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Datatype pieces;
    (void)from;
    MPI_Type_vector(count, 1, 2, its->type, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Bcast(to, 1, pieces, its->root, comm);
    MPI_Type_free(&pieces);
}

static void allgather(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Allgather(from, count, its->type, to, count, its->type, comm);
}

static void allgather_in_place(const call_t *its, unsigned char *from, unsigned char *to)
{
    (void)from;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, count, its->type, comm);
}

static void iallgather(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Request request;
    MPI_Iallgather(from, count, its->type, to, count, its->type, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allgatherv(const call_t *its, unsigned char *from, unsigned char *to)
{
    choose_counts();
    MPI_Allgatherv(from, counts[rank], its->type, to, counts, places, its->type, comm);
}

static void allgatherv_in_place(const call_t *its, unsigned char *from, unsigned char *to)
{
    (void)from;
    choose_counts();
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, places, its->type, comm);
}

static void reduce(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Reduce(from, to, count, its->type, its->op, its->root, comm);
}

static void reduce_in_place(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Reduce(rank == its->root ? MPI_IN_PLACE : from, to, count, its->type, its->op, its->root,
               comm);
}

static void scatter_blocks(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Reduce_scatter_block(from, to, count, its->type, its->op, comm);
}

static void scatter_blocks_in_place(const call_t *its, unsigned char *from, unsigned char *to)
{
    (void)from;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, to, count, its->type, its->op, comm);
}

static void iscatter_blocks(const call_t *its, unsigned char *from, unsigned char *to)
{
    MPI_Request request;
    MPI_Ireduce_scatter_block(from, to, count, its->type, its->op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void scatter(const call_t *its, unsigned char *from, unsigned char *to)
{
    choose_counts();
    MPI_Reduce_scatter(from, to, counts, its->type, its->op, comm);
}

static void scatter_in_place(const call_t *its, unsigned char *from, unsigned char *to)
{
    (void)from;
    choose_counts();
    MPI_Reduce_scatter(MPI_IN_PLACE, to, counts, its->type, its->op, comm);
}

/* ---- checks ---- */

/* In place, only the part of the buffer that is a result is defined. */
static size_t bytes_to_compare(const call_t *its, int element_bytes)
{
    if (its->run == scatter_blocks_in_place)
        return (size_t)(its->shift + count) * (size_t)element_bytes;
    if (its->run == scatter_in_place)
        return (size_t)(its->shift + counts[rank]) * (size_t)element_bytes;
    return room_for(element_bytes);
}

static int try_once(const void *call)
{
    const call_t *its = call;
    int element_bytes, wrong = 0;
    MPI_Type_size(its->type, &element_bytes);
    size_t shift = (size_t)its->shift * (size_t)element_bytes, bytes = room_for(element_bytes);
    put_numbers(sent, (int)bytes, its->form, its->type);
    memcpy(wanted, sent, bytes);
    memory_put('D', in, sent, bytes);
    memory_put('D', out, sent, bytes);
    its->run(its, in + shift, out + shift);
    memory_get('D', got, out, bytes);
    its->run(its, sent + shift, wanted + shift);
    for (size_t i = 0; i < bytes_to_compare(its, element_bytes); i++)
        wrong += got[i] != wanted[i];
    return wrong;
}

static void check_roots(bool is_taken)
{
    for (int of = count < MANY ? 0 : size - 1; of < size; of++) {
        call_t wide = {"ibcast", ibcast, MPI_C_DOUBLE_COMPLEX, MPI_OP_NULL, DOUBLE, 0, of};
        call_t bytes = {"bcast of bytes", bcast, MPI_BYTE, MPI_OP_NULL, INTEGER, of % 4, of};
        call_t parts = {"bcast in pieces", bcast_in_pieces, MPI_SHORT, MPI_OP_NULL, INTEGER, 1, of};
        call_t sum = {"reduce", reduce, MPI_C_DOUBLE_COMPLEX, MPI_SUM, DOUBLE, 0, of};
        call_t most = {"reduce in place", reduce_in_place, MPI_INT64_T, MPI_MAX, INTEGER, 0, of};
        check_method(wide.name, try_once, &wide, is_taken);
        check_method(sum.name, try_once, &sum, is_taken);
        if (count < MANY) {
            check_method(bytes.name, try_once, &bytes, is_taken);
            check_method(parts.name, try_once, &parts, is_taken);
            check_method(most.name, try_once, &most, is_taken);
        }
    }
}

static void check_list(const call_t *list, size_t many, bool is_taken)
{
    for (size_t i = 0; i < many; i++)
        check_method(list[i].name, try_once, &list[i], is_taken);
}

/* With many elements only few cases are tried. */
static void check_all(const buffers_t *buffers, bool is_taken)
{
    static const call_t known[] = {
        {"allgather", allgather, MPI_FLOAT, MPI_OP_NULL, SINGLE, 0, 0},
        {"reduce_scatter_block", scatter_blocks, MPI_FLOAT, MPI_SUM, SINGLE, 0, 0},
        {"allgatherv", allgatherv, MPI_DOUBLE, MPI_OP_NULL, DOUBLE, 0, 0},
        {"reduce_scatter", scatter, MPI_INT64_T, MPI_SUM, INTEGER, 1, 0},
        {"allgather of bytes", allgather, MPI_BYTE, MPI_OP_NULL, INTEGER, 3, 0},
        {"sum of integers", scatter, MPI_INT32_T, MPI_SUM, INTEGER, 1, 0},
        {"allgather in place", allgather_in_place, MPI_SHORT, MPI_OP_NULL, INTEGER, 1, 0},
        {"reduce_scatter_block in place", scatter_blocks_in_place, MPI_INT64_T, MPI_MIN, INTEGER, 0,
         0},
        {"iallgather", iallgather, MPI_C_DOUBLE_COMPLEX, MPI_OP_NULL, DOUBLE, 0, 0},
        {"allgatherv in place", allgatherv_in_place, MPI_BYTE, MPI_OP_NULL, INTEGER, 1, 0},
        {"ireduce_scatter_block", iscatter_blocks, MPI_DOUBLE, MPI_SUM, DOUBLE, 0, 0},
        {"reduce_scatter in place", scatter_in_place, MPI_UINT32_T, MPI_MAX, INTEGER, 0, 0},
        {"sum of halves", scatter_blocks, MPIX_C_FLOAT16, MPI_SUM, HALF, 0, 0},
        {"sum of short floats", scatter, MPIX_BFLOAT16, MPI_SUM, BRAIN, 1, 0},
        {"sum of complex numbers", scatter, MPI_C_FLOAT_COMPLEX, MPI_SUM, SINGLE, 1, 0},
        {"band of bytes", scatter_blocks, MPI_UINT8_T, MPI_BAND, INTEGER, 1, 0},
        {"bxor of bytes", scatter, MPI_BYTE, MPI_BXOR, INTEGER, 3, 0},
        {"bor of 64 bits", scatter_in_place, MPI_UINT64_T, MPI_BOR, INTEGER, 0, 0}};
    static const call_t unknown[] = {
        {"product", scatter_blocks, MPI_FLOAT, MPI_PROD, SINGLE, 0, 0},
        {"max of DOUBLE", scatter, MPI_DOUBLE, MPI_MAX, DOUBLE, 0, 0},
        {"sum of INT8", scatter_blocks, MPI_INT8_T, MPI_SUM, INTEGER, 0, 0}};
    in = buffers->in, out = buffers->out;
    sent = buffers->sent, wanted = buffers->wanted, got = buffers->got;
    check_list(known, count < MANY ? sizeof(known) / sizeof(known[0]) : FEW, is_taken && count > 0);
    check_roots(is_taken && count > 0);
    if (count < MANY)
        check_list(unknown, sizeof(unknown) / sizeof(unknown[0]), false);
}

int main(int argc, char **argv)
{
    static const method_t multicast = {"multicast", "weft_multicast", room, check_all};
    return check_taken(&multicast, argc, argv);
}
