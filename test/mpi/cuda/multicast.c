/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduces through multicast memory: is it used where all devices have it, for all operations
 * that a switch knows, and are the results those of host memory?
 */
#include "method_taken.h"
#include "small_numbers.h"

#include <mpix.h>

enum { MOST_BYTES = 16, GUARD = 64, UNTOUCHED = 0x5a, MANY = 100000, FEW = 2 };

typedef enum how {
    APART,
    IN_PLACE,
    SHIFTED, /* by one element: nothing is aligned to 16 bytes */
    LATER,   /* MPI_Iallreduce */
    HOWS
} how_t;

typedef struct reduction {
    const char *name;
    MPI_Op op;
    MPI_Datatype type;
    form_t form;
    bool is_known; /* the switch can do the operation */
} reduction_t;

static unsigned char *in, *out;            /* on the device */
static unsigned char *sent, *wanted, *got; /* on the host */

static size_t room(void)
{
    return (size_t)(count + 1) * MOST_BYTES + GUARD;
}

/* ---- the call, and its result ---- */

static void reduce(const reduction_t *its, how_t how, int element_bytes)
{
    MPI_Request request;
    size_t shift = how == SHIFTED ? (size_t)element_bytes : 0,
           bytes = (size_t)count * (size_t)element_bytes;
    memory_put('D', in + shift, sent, bytes);
    if (how == IN_PLACE)
        memory_put('D', out, sent, bytes);
    if (how == LATER) {
        MPI_Iallreduce(in, out, count, its->type, its->op, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(how == IN_PLACE ? MPI_IN_PLACE : in + shift, out + shift, count, its->type,
                      its->op, comm);
    }
}

/* One case. */
typedef struct allreduce {
    const reduction_t *its;
    how_t how;
} allreduce_t;

static int try_once(const void *allreduce)
{
    const reduction_t *its = ((const allreduce_t *)allreduce)->its;
    how_t how = ((const allreduce_t *)allreduce)->how;
    int element_bytes, wrong = 0;
    MPI_Type_size(its->type, &element_bytes);
    put_numbers(sent, count * element_bytes, its->form, its->type);
    memset(wanted, UNTOUCHED, room());
    memory_put('D', out, wanted, room());
    reduce(its, how, element_bytes);
    memory_get('D', got, out, room());
    MPI_Allreduce(sent, wanted + (how == SHIFTED ? element_bytes : 0), count, its->type, its->op,
                  comm);
    for (size_t i = 0; i < room(); i++)
        wrong += got[i] != wanted[i];
    return wrong;
}

static void check(const reduction_t *its, how_t how, bool is_taken)
{
    char name[64];
    snprintf(name, sizeof(name), "%s (%d)", its->name, (int)how);
    check_method(name, try_once, &(allreduce_t){its, how}, is_taken);
}

/* With many elements only few reductions are tried. */
static void check_all(const buffers_t *buffers, bool is_taken)
{
    const reduction_t all[] = {
        {"sum of INT32", MPI_SUM, MPI_INT32_T, INTEGER, true},
        {"sum of UINT32", MPI_SUM, MPI_UINT32_T, INTEGER, true},
        {"sum of INT64", MPI_SUM, MPI_INT64_T, INTEGER, true},
        {"sum of FLOAT", MPI_SUM, MPI_FLOAT, SINGLE, true},
        {"sum of DOUBLE", MPI_SUM, MPI_DOUBLE, DOUBLE, true},
        {"sum of C_FLOAT_COMPLEX", MPI_SUM, MPI_C_FLOAT_COMPLEX, SINGLE, true},
        {"sum of C_DOUBLE_COMPLEX", MPI_SUM, MPI_C_DOUBLE_COMPLEX, DOUBLE, true},
        {"sum of FLOAT16", MPI_SUM, MPIX_C_FLOAT16, HALF, true},
        {"sum of BFLOAT16", MPI_SUM, MPIX_BFLOAT16, BRAIN, true},
        {"min of INT32", MPI_MIN, MPI_INT32_T, INTEGER, true},
        {"min of UINT32", MPI_MIN, MPI_UINT32_T, INTEGER, true},
        {"min of INT64", MPI_MIN, MPI_INT64_T, INTEGER, true},
        {"min of UINT64", MPI_MIN, MPI_UINT64_T, INTEGER, true},
        {"max of INT32", MPI_MAX, MPI_INT32_T, INTEGER, true},
        {"max of UINT32", MPI_MAX, MPI_UINT32_T, INTEGER, true},
        {"max of INT64", MPI_MAX, MPI_INT64_T, INTEGER, true},
        {"max of UINT64", MPI_MAX, MPI_UINT64_T, INTEGER, true},
        {"band of UINT8", MPI_BAND, MPI_UINT8_T, INTEGER, true},
        {"bor of INT16", MPI_BOR, MPI_INT16_T, INTEGER, true},
        {"bxor of BYTE", MPI_BXOR, MPI_BYTE, INTEGER, true},
        {"bxor of UINT64", MPI_BXOR, MPI_UINT64_T, INTEGER, true},
        {"sum of INT8", MPI_SUM, MPI_INT8_T, INTEGER, false},
        {"prod of FLOAT", MPI_PROD, MPI_FLOAT, SINGLE, false},
        {"max of DOUBLE", MPI_MAX, MPI_DOUBLE, DOUBLE, false},
        {"max of FLOAT16", MPI_MAX, MPIX_C_FLOAT16, HALF, false},
        {"lor of INT32", MPI_LOR, MPI_INT32_T, INTEGER, false}};
    in = buffers->in, out = buffers->out;
    sent = buffers->sent, wanted = buffers->wanted, got = buffers->got;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && (i < FEW || (is_taken && count < MANY));
         i++)
        check(&all[i], all[i].form == HALF || all[i].form == BRAIN ? APART : (how_t)(i % HOWS),
              is_taken && all[i].is_known && count > 0);
    for (int how = 0; how < HOWS && count < MANY; how++)
        check(&all[3], (how_t)how, is_taken && count > 0);
}

int main(int argc, char **argv)
{
    static const method_t multicast = {"multicast", "weft_multicast", room, check_all};
    return check_taken(&multicast, argc, argv);
}
