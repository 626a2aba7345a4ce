/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pi as the integral of 4 / (1 + x^2) from 0 to 1, by the midpoint rule: rank r takes the strips r,
 * r + N, ... MPI_Bcast hands out the number of strips, MPI_Reduce adds the parts up.
 *
 *   mpicc -O2 -o pi pi.c -lm && mpirun -np 4 ./pi 1000000
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

static double my_part(long strips, int rank, int ranks)
{
    double width = 1.0 / (double)strips, sum = 0;

    for (long i = rank; i < strips; i += ranks) {
        double x = width * ((double)i + 0.5);

        sum += 4.0 / (1.0 + x * x);
    }
    return width * sum;
}

int main(int argc, char **argv)
{
    int rank, ranks, is_right = 1;
    long strips = 10000000;
    double part, pi = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0 && argc > 1)
        strips = strtol(argv[1], NULL, 10) > 0 ? strtol(argv[1], NULL, 10) : strips;
    MPI_Bcast(&strips, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    part = my_part(strips, rank, ranks);
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        /* The error of the midpoint rule is 1 / (12 n^2) here; the sum of n numbers adds a few
         * roundings. */
        double bound = 1.0 / (12.0 * (double)strips * (double)strips) + 1e-11;

        is_right = fabs(pi - PI) <= 1.01 * bound;
        printf("pi is about %.15f with %ld strips on %d ranks, error %.1e: %s\n", pi, strips, ranks,
               fabs(pi - PI), is_right ? "correct" : "WRONG");
    }
    MPI_Finalize();
    return !is_right;
}
