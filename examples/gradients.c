/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What data-parallel training does in each step: every rank has computed a different gradient, and
 * all go on with the mean. One MPI_Allreduce in place adds them up; each rank then divides by the
 * number of ranks.
 *
 *   mpicc -O2 -o gradients gradients.c -lm && mpirun -np 4 ./gradients
 *
 * The gradients are made up from the rank, so that each rank can also compute what the mean must
 * be.
 */
#include <mpi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS (1 << 18)
#define STEPS   5

/* A number between -1 and 1, different for every rank, step and place. */
static float gradient(int rank, int step, int at)
{
    uint32_t x =
        (uint32_t)rank * 2654435761u ^ (uint32_t)step * 40503u ^ (uint32_t)at * 2246822519u;

    x ^= x >> 15;
    x *= 739982445u;
    x ^= x >> 13;
    return (float)(x >> 8) / (float)(1 << 23) - 1.0f;
}

/* The greatest distance between `mean` and what it must be. */
static double greatest_error(const float *mean, int ranks, int step)
{
    double worst = 0;

    for (int i = 0; i < WEIGHTS; i++) {
        double sum = 0;

        for (int rank = 0; rank < ranks; rank++)
            sum += gradient(rank, step, i);
        worst = fmax(worst, fabs(mean[i] - sum / ranks));
    }
    return worst;
}

/* Does every rank hold the very same bits as rank 0? */
static int all_agree(const float *mean, float *scratch, int rank)
{
    int same, all_same;

    if (rank == 0)
        memcpy(scratch, mean, WEIGHTS * sizeof(*mean));
    MPI_Bcast(scratch, WEIGHTS, MPI_FLOAT, 0, MPI_COMM_WORLD);
    same = memcmp(scratch, mean, WEIGHTS * sizeof(*mean)) == 0;
    MPI_Allreduce(&same, &all_same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all_same;
}

/* One step. True, on every rank, if the mean is right and has the same bits on all ranks. */
static int train_step(float *weights, float *scratch, int step)
{
    int rank, ranks, agree;
    double begin_s, seconds, error, worst;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = gradient(rank, step, i);

    begin_s = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, weights, WEIGHTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    seconds = MPI_Wtime() - begin_s;
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] /= (float)ranks;

    agree = all_agree(weights, scratch, rank);
    error = greatest_error(weights, ranks, step);
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("step %d: %d ranks averaged %.1f MiB in %.3f ms, %s, greatest error %.1e\n", step,
               ranks, WEIGHTS * sizeof(float) / 1048576.0, seconds * 1e3,
               agree ? "all agree" : "RANKS DIFFER", worst);
    return agree && worst < 1e-5;
}

int main(int argc, char **argv)
{
    float *weights = malloc(WEIGHTS * sizeof(*weights)),
          *scratch = malloc(WEIGHTS * sizeof(*scratch));
    int rank, is_right = weights != NULL && scratch != NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!is_right)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int step = 1; step <= STEPS; step++)
        is_right &= train_step(weights, scratch, step);
    if (rank == 0)
        printf("%s\n", is_right ? "correct: every rank holds the mean of all gradients" : "WRONG");
    MPI_Finalize();
    free(scratch);
    free(weights);
    return !is_right;
}
