/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipeline-parallel training: every rank has some layers, a stage. A batch goes through the stages
 * in micro-batches, forwards (F) and backwards (B), so that all stages have work at the same time.
 * The schedule is 1F1B: a stage begins with as many F as there are stages after it, then takes one
 * F and one B in turn, and ends with the B that are left. With 4 stages and 6 micro-batches:
 *
 *   stage 0  F0 F1 F2 F3 .. .. .. B0 F4 B1 F5 B2 .. B3 .. B4 .. B5
 *   stage 1  .. F0 F1 F2 .. .. B0 F3 B1 F4 B2 F5 B3 .. B4 .. B5 ..
 *   stage 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 F4 B3 F5 B4 .. B5 .. ..
 *   stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 .. .. ..
 *            time -->
 *
 * The dots are the bubble: p - 1 of m + p - 1 steps, for p stages and m micro-batches. All F before
 * all B (GPipe) has the same bubble, but there a stage holds the values of m micro-batches, and
 * here of p at most. Gradients are added in the order of the micro-batches, so the weights are the
 * same as in one process even with ordinary sums.
 *
 *   mpicc -O2 -o pipeline_parallel pipeline_parallel.c training.c -lm
 *   mpirun -np 4 ./pipeline_parallel ../data/digits.txt
 */
#include "training.h"

#include <stddef.h>
#include <string.h>

enum { MICRO_BATCHES = 8, ROWS = BATCH / MICRO_BATCHES };

/* A micro-batch: what goes into each layer, its slopes, and the messages that bring and take them.
 * To be short, the program gives each micro-batch a place of its own instead of p in turn; so it
 * can post all receives of a batch at its start. */
static struct micro_batch {
    double values[LAYERS + 1][ROWS * WIDEST], slopes[LAYERS + 1][ROWS * WIDEST];
    MPI_Request values_in, values_out, slopes_in, slopes_out;
} micro_batches[MICRO_BATCHES];

/* The layers in [first, end); the ranks of the stages beside it, MPI_PROC_NULL at the ends of the
 * pipeline: messages to and from there do nothing. */
typedef struct stage {
    int first, end, previous, next;
    int doubles_in, doubles_out; /* of a micro-batch */
} stage_t;

static stage_t stage_of(const training_t *training)
{
    const int rank = training->rank, ranks = training->ranks;
    stage_t stage = {.first = part_begin(LAYERS, rank, ranks),
                     .end = part_begin(LAYERS, rank + 1, ranks),
                     .previous = rank > 0 ? rank - 1 : MPI_PROC_NULL,
                     .next = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL};

    stage.doubles_in = ROWS * training->layers[stage.first].inputs;
    stage.doubles_out = ROWS * training->layers[stage.end - 1].outputs;
    return stage;
}

static void wait_for(training_t *training, MPI_Request *message, int from, int count)
{
    clock_start(&training->clock);
    MPI_Wait(message, MPI_STATUS_IGNORE);
    if (from != MPI_PROC_NULL)
        clock_stop(&training->clock, count);
}

static void forward(training_t *training, int m, const double *pixels)
{
    const stage_t stage = stage_of(training);
    struct micro_batch *micro = &micro_batches[m];

    wait_for(training, &micro->values_in, stage.previous, stage.doubles_in);
    if (stage.first == 0)
        memcpy(micro->values[0], pixels, sizeof(double) * ROWS * PIXELS);
    for (int l = stage.first; l < stage.end; l++) {
        layer_forward(&training->layers[l], micro->values[l], ROWS, micro->values[l + 1]);
        if (l < LAYERS - 1)
            tanh_forward(micro->values[l + 1], ROWS * training->layers[l].outputs);
    }
    MPI_Isend(micro->values[stage.end], stage.doubles_out, MPI_DOUBLE, stage.next, 'F',
              training->comm, &micro->values_out);
}

static void backward(training_t *training, int m, const int *labels)
{
    const stage_t stage = stage_of(training);
    struct micro_batch *micro = &micro_batches[m];

    wait_for(training, &micro->slopes_in, stage.next, stage.doubles_out);
    if (stage.end == LAYERS)
        loss_backward(micro->values[LAYERS], labels, ROWS, micro->slopes[LAYERS],
                      &training->outcome);
    for (int l = stage.end - 1; l >= stage.first; l--) {
        layer_backward(&training->layers[l], micro->values[l], micro->slopes[l + 1], ROWS,
                       l > 0 ? micro->slopes[l] : NULL);
        if (l > 0)
            tanh_backward(micro->values[l], micro->slopes[l], ROWS * training->layers[l].inputs);
    }
    MPI_Isend(micro->slopes[stage.first], stage.doubles_in, MPI_DOUBLE, stage.previous, 'B',
              training->comm, &micro->slopes_out);
}

static void train_batch(training_t *training, int batch)
{
    const stage_t stage = stage_of(training);
    const int ahead = training->ranks - 1 - training->rank;

    for (int m = 0; m < MICRO_BATCHES; m++) {
        struct micro_batch *micro = &micro_batches[m];

        MPI_Irecv(micro->values[stage.first], stage.doubles_in, MPI_DOUBLE, stage.previous, 'F',
                  training->comm, &micro->values_in);
        MPI_Irecv(micro->slopes[stage.end], stage.doubles_out, MPI_DOUBLE, stage.next, 'B',
                  training->comm, &micro->slopes_in);
    }
    for (int m = 0; m < MICRO_BATCHES + ahead; m++) {
        if (m < MICRO_BATCHES)
            forward(training, m, digits.pixels[batch + m * ROWS]);
        if (m >= ahead)
            backward(training, m - ahead, &digits.label[batch + (m - ahead) * ROWS]);
    }
    for (int m = 0; m < MICRO_BATCHES; m++) {
        MPI_Wait(&micro_batches[m].values_out, MPI_STATUS_IGNORE);
        MPI_Wait(&micro_batches[m].slopes_out, MPI_STATUS_IGNORE);
    }
    for (int l = stage.first; l < stage.end; l++)
        layer_step(&training->layers[l]);
}

/* Every rank sends to the next and receives from the one before, round a ring. */
static void shift(double *message, int count, MPI_Comm comm)
{
    int rank, ranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Sendrecv_replace(message, count, MPI_DOUBLE, (rank + 1) % ranks, 0,
                         (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm comm = training_begin(&argc, &argv, LAYERS, "4 layers make 4 stages at most");
    training_t alone, ours;

    if (comm != MPI_COMM_NULL) {
        training_alone(&alone, comm, net_sizes, LAYERS, train_batch);
        training_start(&ours, comm, net_sizes, LAYERS);
        training_run(&ours, train_batch, "a stage a rank, 1F1B");
        clock_print(&ours, &ours.clock, "wait for a message", 1, shift);
        for (int l = stage_of(&ours).first; l < stage_of(&ours).end; l++)
            compare_weights(&ours.layers[l], &alone.layers[l]);
        training_free(&ours);
        training_free(&alone);
    }
    return training_end(comm);
}
