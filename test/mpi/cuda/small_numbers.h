/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that all types hold, so small that sums of 16-bit floats are exact. */
#ifndef TEST_MPI_CUDA_SMALL_NUMBERS_H
#define TEST_MPI_CUDA_SMALL_NUMBERS_H

#include <mpi.h>
#include <string.h>

typedef enum form { INTEGER, SINGLE, DOUBLE, HALF, BRAIN } form_t;

static inline void put_number(unsigned char *at, form_t form, int bytes, unsigned number)
{
    float single = (float)number;
    double exact = number;
    unsigned bits;
    memcpy(&bits, &single, sizeof(bits));
    unsigned short brain = (unsigned short)(bits >> 16);
    unsigned short half = number == 0 ? 0 : (unsigned short)((bits >> 13) - ((127 - 15) << 10));
    const void *from = form == SINGLE   ? (void *)&single
                       : form == DOUBLE ? (void *)&exact
                       : form == HALF   ? (void *)&half
                       : form == BRAIN  ? (void *)&brain
                                        : NULL;
    if (from != NULL)
        memcpy(at, from, (size_t)bytes);
    for (int i = 0; i < bytes && from == NULL; i++)
        at[i] = (unsigned char)(number * 77 >> i % 3);
}

/* Elements of complex numbers are two numbers. */
static inline void put_numbers(unsigned char *to, int total_bytes, form_t form, MPI_Datatype type)
{
    int bytes, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_size(type, &bytes);
    bytes = form == SINGLE ? (int)sizeof(float) : form == DOUBLE ? (int)sizeof(double) : bytes;
    for (int i = 0; i < total_bytes / bytes; i++)
        put_number(to + i * bytes, form, bytes, (unsigned)(rank * 3 + i) % 8);
}

#endif
